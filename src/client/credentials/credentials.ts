import type {
  ListCredentials,
  PutCredential,
  RemoveCredential,
  StoredCredential,
} from '../../contract/credentials.ts';

/** Secrets of users, encrypted in the store: they are put there and used by tools, and nobody reads them again. */
export interface Credentials {
  /**
   * Encrypts a credential into the store; the one of the same app, user and key is replaced. Its `credentialRef` is no secret.
   *
   * @param put.credentialKey `credentialKey` of the tool's `authConfig`.
   * @param put.credential an API key, or HTTP's `bearer` or `basic`.
   * @param put.label for people, up to 200 characters; no secret.
   * @throws InvalidCredential naming the field; InvalidTurn
   * @throws CredentialKeyMissing where nothing is there to encrypt it with.
   * @example
   * const credential = { authType: 'apiKey', apiKey: process.env.SHOP_KEY } as const;
   * const { credentialRef } = await client.credentials.put({ app: 'shop', userId: 'ada', credentialKey: 'shop', credential });
   */
  put(put: PutCredential): Promise<StoredCredential>;
  /** Without the secrets. */
  list(list: ListCredentials): Promise<StoredCredential[]>;
  /** Whether there was one. */
  remove(remove: RemoveCredential): Promise<boolean>;
}
