import type {
  AddMemory,
  DeleteMemories,
  DeleteMemory,
  ListedMemories,
  ListMemories,
} from '../../contract/memories.ts';

/** Memories of users: searched, added, deleted. Those in an app's own service are not among them. */
export interface Memories {
  /**
   * Searches the memories of a user by words, or lists the newest ones.
   *
   * @throws InvalidTurn
   * @example const { memories } = await client.memories.list({ app: 'shop', userId: 'ada', query: 'delivery address' });
   */
  list(list: ListMemories): Promise<ListedMemories>;
  /**
   * Adds a memory, which is found by its words in all sessions of the user.
   *
   * @throws InvalidTurn
   * @example await client.memories.add({ app: 'shop', userId: 'ada', text: 'Prefers delivery in the evening.' });
   */
  add(add: AddMemory): Promise<{ id: string }>;
  /**
   * Deletes a memory. Whether there was one.
   *
   * @throws InvalidTurn
   */
  delete(which: DeleteMemory): Promise<boolean>;
  /**
   * Deletes all memories of a user. How many there were.
   *
   * @throws InvalidTurn
   */
  deleteAll(owner: DeleteMemories): Promise<number>;
}
