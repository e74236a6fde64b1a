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
import { checkedFields, checkedInput } from '../checked-input.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import type { Credentials } from './credentials.ts';

/** `credentials` of a `GatewayClient`: as those of `HoldfastClient`. The gateway encrypts what it is given. */
export class GatewayCredentials implements Credentials {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidCredential, InvalidTurn */
  async put(put: PutCredential): Promise<StoredCredential> {
    const names = checkedFields(CREDENTIAL_NAMES, put, putCredential.name);
    return await this.#connection.call(putCredential, { ...names, credential: put.credential });
  }

  /** @throws InvalidTurn */
  async list(list: ListCredentials): Promise<StoredCredential[]> {
    const operation = listOfCredentials(list);
    const { input } = checkedInput(operation, list);
    return (await this.#connection.call<{ credentials: StoredCredential[] }>(operation, input)).credentials;
  }

  /** @throws InvalidTurn */
  async remove(remove: RemoveCredential): Promise<boolean> {
    const { input } = checkedInput(removeCredential, remove);
    return (await this.#connection.call<{ removed: boolean }>(removeCredential, input)).removed;
  }
}
