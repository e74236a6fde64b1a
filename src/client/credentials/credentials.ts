import {
  type ConnectCredential,
  type ConnectLink,
  type CREDENTIALS,
  connectCredential,
  type ListCredentials,
  listOfCredentials,
  type PutCredential,
  putCredential,
  type RemoveCredential,
  type RemovedCredential,
  removeCredential,
  resealCredentials,
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
   * @param put.credential an API key, HTTP's `bearer` or `basic`, tokens of OAuth, or the key file of a service account.
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

  /** Removes one; tokens are given up at their server first. */
  async remove(remove: RemoveCredential): Promise<RemovedCredential> {
    return await this.#call(removeCredential, remove, OPERATOR);
  }

  /**
   * A link on which a user consents at the authorization server of a `credentialKey`, to the scopes of the provider, and to those that
   * calls wait for. They go on then.
   *
   * @returns `path` of the page at the gateway. It acts for the user: a secret.
   */
  async connect(connect: ConnectCredential): Promise<ConnectLink> {
    return await this.#call(connectCredential, connect, OPERATOR);
  }

  /** Encrypts an app's credentials with the first key, so that the others may go. @returns how many had another one. */
  async reseal(reseal: { app: string }): Promise<number> {
    return (await this.#call(resealCredentials, reseal, OPERATOR)).resealed;
  }
}
