import { randomBytes } from 'node:crypto';
import { take } from '../contract/check.ts';
import { CREDENTIAL_NAMES, type PutCredential, type StoredCredential } from '../contract/credentials.ts';
import { checkOf } from '../contract/operation.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import { defined } from '../protocol/json.ts';
import type {
  CredentialStore,
  NewCredential,
  SealedCredential,
} from '../store/credentials/credential-store.ts';
import { readAuthCredential } from './auth-credential.ts';
import { CredentialKeyMissing, invalidCredential } from './credential-errors.ts';
import type { CredentialKeys } from './credential-keys.ts';
import { type CredentialPlace, seal, unseal } from './seal.ts';

/** Input of {@link CredentialVault.put}; all of it is checked. */
export type CredentialToKeep = Omit<PutCredential, 'credential'> & { credential: unknown };

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
  async put(credential: CredentialToKeep): Promise<StoredCredential> {
    return await this.#store.put(this.sealed(credential));
  }

  /** @throws CredentialUnreadable, CredentialKeyMissing, InvalidCredentialKeys */
  unsealed(stored: SealedCredential): AuthCredential {
    return readAuthCredential(unseal(stored, this.ownKeys()));
  }

  /** A credential under a new reference, as the store takes it. @throws InvalidCredential, CredentialKeyMissing */
  sealed({ credential, ...given }: CredentialToKeep): NewCredential {
    const { label, ...names } = namesOf(given);
    const read = readAuthCredential(credential);
    const place = { ...names, credentialRef: newCredentialRef() };
    const { expiresAt } = read.oauth2 ?? {};
    return {
      ...place,
      authType: read.authType,
      ...defined({ label, expiresAt }),
      ...this.resealed(place, read),
    };
  }

  /** Content under a reference that is there already. @throws CredentialKeyMissing */
  resealed(place: CredentialPlace, content: object): Pick<NewCredential, 'keyId' | 'sealed'> {
    const key = this.ownKeys().sealing();
    return { keyId: key.id, sealed: seal(content, place, key) };
  }

  /** @throws CredentialKeyMissing */
  ownKeys(): CredentialKeys {
    if (this.#keys === undefined) throw new CredentialKeyMissing();
    return this.#keys;
  }
}

/** Names a credential, and is no secret. */
export function newCredentialRef(): string {
  return `cr-${randomBytes(16).toString('base64url')}`;
}

function namesOf(given: object): Omit<PutCredential, 'credential'> {
  const { value, problem } = take<Omit<PutCredential, 'credential'>>(checkOf(CREDENTIAL_NAMES), given);
  if (problem !== undefined) throw invalidCredential(problem.field, problem.problem);
  return value;
}
