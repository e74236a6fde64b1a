import {
  type AddMemory,
  addMemory,
  type DeleteMemories,
  type DeleteMemory,
  deleteMemories,
  deleteMemory,
  type ListedMemories,
  type ListMemories,
  listMemories,
} from '../../contract/memories.ts';
import { checkedInput } from '../checked-input.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import type { Memories } from './memories.ts';

/** `memories` of a `GatewayClient`. */
export class GatewayMemories implements Memories {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  async list(list: ListMemories): Promise<ListedMemories> {
    return await this.#connection.call(listMemories, checkedInput(listMemories, list).input);
  }

  async add(add: AddMemory): Promise<{ id: string }> {
    return await this.#connection.call(addMemory, checkedInput(addMemory, add).input);
  }

  async delete(which: DeleteMemory): Promise<boolean> {
    const { input } = checkedInput(deleteMemory, which);
    return (await this.#connection.call<{ deleted: boolean }>(deleteMemory, input)).deleted;
  }

  async deleteAll(owner: DeleteMemories): Promise<number> {
    const { input } = checkedInput(deleteMemories, owner);
    return (await this.#connection.call<{ deleted: number }>(deleteMemories, input)).deleted;
  }
}
