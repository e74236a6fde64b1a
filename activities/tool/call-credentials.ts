import type { CredentialVault } from '../../src/credentials/credential-vault.ts';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import type { SessionNames } from '../../src/store/store.ts';

type CredentialReader = Pick<CredentialVault, 'find' | 'open'>;

/** The credentials that one run of a call has. They are in memory for as long as it takes, and nowhere else. */
export class CallCredentials {
  readonly #reader: CredentialReader;
  readonly #owner: { app: string; userId: string };
  readonly #given: ReadonlyMap<string, string>;
  readonly #opened = new Map<string, AuthCredential>();

  /** @param given references by the key of the credential: what people have answered the call. */
  constructor(
    reader: CredentialReader,
    { app, userId }: Pick<SessionNames, 'app' | 'userId'>,
    given: ReadonlyMap<string, string>,
  ) {
    this.#reader = reader;
    this.#owner = { app, userId };
    this.#given = given;
  }

  get(credentialKey: string): AuthCredential | undefined {
    return this.#opened.get(credentialKey);
  }

  /** Those that people have answered the call. */
  async openGiven(): Promise<void> {
    for (const credentialKey of this.#given.keys()) await this.open(credentialKey);
  }

  /** Whether there is one: what the call was answered, else what the user has under this key. */
  async open(credentialKey: string): Promise<boolean> {
    if (this.#opened.has(credentialKey)) return true;
    const credential =
      (await this.#openAnswer(credentialKey)) ?? (await this.#reader.open({ ...this.#owner, credentialKey }));
    if (credential === undefined) return false;
    this.#opened.set(credentialKey, credential);
    return true;
  }

  /** Only what is stored under this key: an answer may name any credential of the user. */
  async #openAnswer(credentialKey: string): Promise<AuthCredential | undefined> {
    const credentialRef = this.#given.get(credentialKey);
    if (credentialRef === undefined) return undefined;
    const which = { ...this.#owner, credentialRef };
    const stored = await this.#reader.find(which);
    return stored?.credentialKey === credentialKey ? await this.#reader.open(which) : undefined;
  }
}
