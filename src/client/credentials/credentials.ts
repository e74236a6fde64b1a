import {
  type CREDENTIALS,
  type ListCredentials,
  listOfCredentials,
  type PutCredential,
  putCredential,
  type RemoveCredential,
  removeCredential,
  type StoredCredential,
} from '../../contract/credentials.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';

/** Secrets of users, encrypted in the store: they are put there and used by tools, and nobody reads them again. */
export class Credentials implements MethodsOf<typeof CREDENTIALS> {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

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
  async put(put: PutCredential): Promise<StoredCredential> {
    return await this.#call(putCredential, put, OPERATOR);
  }

  /** Without the secrets. */
  async list(list: ListCredentials): Promise<StoredCredential[]> {
    return [
      ...(await this.#call(listOfCredentials(list), list as Required<ListCredentials>, OPERATOR)).credentials,
    ];
  }

  /** Whether there was one. */
  async remove(remove: RemoveCredential): Promise<boolean> {
    return (await this.#call(removeCredential, remove, OPERATOR)).removed;
  }
}
