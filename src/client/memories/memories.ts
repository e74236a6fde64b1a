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
  type MEMORIES,
} from '../../contract/memories.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';

/** Memories of users: searched, added, deleted. Those in an app's own service are not among them. */
export class Memories implements MethodsOf<typeof MEMORIES> {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Searches the memories of a user by words, or lists the newest ones.
   *
   * @throws InvalidTurn
   * @example const { memories } = await client.memories.list({ app: 'shop', userId: 'ada', query: 'delivery address' });
   */
  async list(list: ListMemories): Promise<ListedMemories> {
    return await this.#call(listMemories, list, OPERATOR);
  }

  /**
   * Adds a memory, which is found by its words in all sessions of the user.
   *
   * @throws InvalidTurn
   * @example await client.memories.add({ app: 'shop', userId: 'ada', text: 'Prefers delivery in the evening.' });
   */
  async add(add: AddMemory): Promise<{ id: string }> {
    return await this.#call(addMemory, add, OPERATOR);
  }

  /**
   * Deletes a memory. Whether there was one.
   *
   * @throws InvalidTurn
   */
  async delete(which: DeleteMemory): Promise<boolean> {
    return (await this.#call(deleteMemory, which, OPERATOR)).deleted;
  }

  /**
   * Deletes all memories of a user. How many there were.
   *
   * @throws InvalidTurn
   */
  async deleteAll(owner: DeleteMemories): Promise<number> {
    return (await this.#call(deleteMemories, owner, OPERATOR)).deleted;
  }
}
