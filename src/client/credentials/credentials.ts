import type { AuthCredential } from '../../events/auth-credential.ts';
import type { StoredCredential } from '../../store/credentials/credential-store.ts';

/** What {@link Credentials.put} takes. */
export interface PutCredential {
  app: string;
  userId: string;
  /** `credentialKey` of the tool's `authConfig`. */
  credentialKey: string;
  /** An API key, or HTTP's `bearer` or `basic`. */
  credential: AuthCredential;
  /** For people, up to 200 characters; no secret. */
  label?: string;
}

/** Secrets of users, encrypted in the store: they are put there and used by tools, and nobody reads them again. */
export interface Credentials {
  /**
   * Encrypts a credential into the store; the one of the same app, user and key is replaced. Its `credentialRef` is no secret.
   *
   * @throws InvalidCredential naming the field; InvalidTurn
   * @throws CredentialKeyMissing where nothing is there to encrypt it with.
   * @example
   * const credential = { authType: 'apiKey', apiKey: process.env.SHOP_KEY } as const;
   * const { credentialRef } = await client.credentials.put({ app: 'shop', userId: 'ada', credentialKey: 'shop', credential });
   */
  put(put: PutCredential): Promise<StoredCredential>;
  /** Without the secrets. */
  list(list: { app: string; userId?: string }): Promise<StoredCredential[]>;
  /** Whether there was one. */
  remove(remove: { app: string; userId: string; credentialRef: string }): Promise<boolean>;
}
