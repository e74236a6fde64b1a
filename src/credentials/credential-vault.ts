import { randomBytes } from 'node:crypto';
import type { ApprovalStore, StoredCredential } from '../store/store.ts';
import { type AuthCredential, readAuthCredential } from './auth-credential.ts';
import { CredentialKeyMissing, InvalidCredential } from './credential-errors.ts';
import type { CredentialKeys } from './credential-keys.ts';
import { seal, unseal } from './seal.ts';

const LONGEST_NAME = 512;
const LONGEST_LABEL = 200;

/** What {@link CredentialVault.put} takes. */
export interface CredentialToKeep {
  app: string;
  userId: string;
  /** `credentialKey` of the tool's `authConfig`. */
  credentialKey: string;
  /** In ADK's form; checked. */
  credential: unknown;
  /** For people, at most 200 characters; no secret. */
  label?: string | undefined;
}

/** Names one credential of a user. */
export type WhichCredential = { app: string; userId: string } & (
  | { credentialRef: string }
  | { credentialKey: string }
);

type CredentialStore = Pick<
  ApprovalStore,
  'putCredential' | 'findCredential' | 'listCredentials' | 'removeCredential'
>;

/** Secrets of users, encrypted in the store with keys that the store hasn't got. */
export class CredentialVault {
  readonly #store: CredentialStore;
  readonly #keys: CredentialKeys | undefined;

  /** @param keys without which nothing can be put or opened. */
  constructor(store: CredentialStore, keys: CredentialKeys | undefined) {
    this.#store = store;
    this.#keys = keys;
  }

  /**
   * Encrypts a credential into the store, in place of the one of the same app, user and key.
   *
   * @throws InvalidCredential, CredentialKeyMissing, InvalidCredentialKeys
   */
  async put({ app, userId, credentialKey, credential, label }: CredentialToKeep): Promise<StoredCredential> {
    const names = { app, userId, credentialKey };
    for (const [field, value] of Object.entries(names)) assertName(field, value);
    const read = readAuthCredential(credential);
    const place = { ...names, credentialRef: `cr-${randomBytes(16).toString('base64url')}` };
    const key = this.#ownKeys().sealing();
    return await this.#store.putCredential({
      ...place,
      authType: read.authType,
      ...(label === undefined ? {} : { label: labelOf(label) }),
      keyId: key.id,
      sealed: seal(read, place, key),
    });
  }

  /**
   * Undefined where there is none.
   *
   * @throws CredentialUnreadable, CredentialKeyMissing, InvalidCredentialKeys
   */
  async open(which: WhichCredential): Promise<AuthCredential | undefined> {
    const stored = await this.#store.findCredential(which);
    return stored && unseal(stored, this.#ownKeys());
  }

  /** Without the secret. */
  async find(which: WhichCredential): Promise<StoredCredential | undefined> {
    const stored = await this.#store.findCredential(which);
    if (stored === undefined) return undefined;
    const { keyId: _keyId, sealed: _sealed, ...told } = stored;
    return told;
  }

  /** Without the secrets. */
  list(list: { app: string; userId?: string }): Promise<StoredCredential[]> {
    return this.#store.listCredentials(list);
  }

  /** Whether there was one. */
  remove(remove: { app: string; userId: string; credentialRef: string }): Promise<boolean> {
    return this.#store.removeCredential(remove);
  }

  #ownKeys(): CredentialKeys {
    if (this.#keys === undefined) throw new CredentialKeyMissing();
    return this.#keys;
  }
}

function assertName(field: string, value: unknown): void {
  const isName = typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;
  if (!isName) throw new InvalidCredential(field, `expected text of 1 to ${LONGEST_NAME} characters`);
}

function labelOf(label: unknown): string {
  if (typeof label === 'string' && label.length <= LONGEST_LABEL) return label;
  throw new InvalidCredential('label', `expected text of at most ${LONGEST_LABEL} characters`);
}
