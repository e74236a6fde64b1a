import {
  CREDENTIAL_NAMES,
  type ListCredentials,
  listOfCredentials,
  type PutCredential,
  putCredential,
  type RemoveCredential,
  removeCredential,
  type StoredCredential,
} from '../../contract/credentials.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { checkedFields, checkedInput } from '../checked-input.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import type { Credentials } from './credentials.ts';

/** `credentials` of a `HoldfastClient`. */
export class ClientCredentials implements Credentials {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws StoreNeeded, InvalidCredential, CredentialKeyMissing, InvalidCredentialKeys, InvalidTurn */
  async put(put: PutCredential): Promise<StoredCredential> {
    const { name } = putCredential;
    const vault = this.#vault(name);
    return await vault.put({ ...checkedFields(CREDENTIAL_NAMES, put, name), credential: put.credential });
  }

  /** @throws StoreNeeded, InvalidTurn */
  async list(list: ListCredentials): Promise<StoredCredential[]> {
    const operation = listOfCredentials(list);
    return await this.#vault(operation.name).list(checkedInput(operation, list).input);
  }

  /** @throws StoreNeeded, InvalidTurn */
  async remove(remove: RemoveCredential): Promise<boolean> {
    const vault = this.#vault(removeCredential.name);
    return await vault.remove(checkedInput(removeCredential, remove).input);
  }

  #vault(what: string): CredentialVault {
    return new CredentialVault(storeOf(this.#context, what).credentials, this.#context.credentialKeys);
  }
}
