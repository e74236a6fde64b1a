import { randomUUID } from 'node:crypto';
import {
  type AddMemory,
  addMemory,
  DEFAULT_MEMORIES,
  type DeleteMemories,
  type DeleteMemory,
  deleteMemories,
  deleteMemory,
  type ListedMemories,
  type ListMemories,
  listMemories,
  type Memory,
} from '../../contract/memories.ts';
import { getLogger } from '../../logger.ts';
import { memoryTerms, queryTerms } from '../../memory/memory-terms.ts';
import { type StoredMemoryServiceInit, storedMemoryService } from '../../memory/stored-memory-service.ts';
import { idKey } from '../../memory/user-memory.ts';
import { defined } from '../../protocol/json.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { FoundMemory } from '../../store/memories/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { checkedInput } from '../checked-input.ts';
import type { Memories } from './memories.ts';

/** `memories` of clients that have the store. */
export class StoredMemories implements Memories {
  readonly #open: () => Pick<Store, 'memories' | 'now' | 'sessions'>;

  /** @param open the store, which a client without one lacks. */
  constructor(open: () => Pick<Store, 'memories' | 'now' | 'sessions'>) {
    this.#open = open;
  }

  /** By ADK's methods, as an app has set its memory. */
  of({ results, embeddings, include }: Pick<StoredMemoryServiceInit, 'results' | 'embeddings' | 'include'>) {
    const { signal } = new AbortController();
    const warn = (error: unknown) =>
      getLogger().warn(`memories were searched by words only: ${thrownMessage(error)}`);
    const of = { store: this.#open(), results, embeddings, include };
    return storedMemoryService({ ...of, signal, warn, key: `new/${randomUUID()}` });
  }

  async list(list: ListMemories): Promise<ListedMemories> {
    const { query, limit = DEFAULT_MEMORIES, after, ...owner } = checkedInput(listMemories, list).input;
    const { memories } = this.#open();
    if (query !== undefined) {
      const found = await memories.search(owner, { terms: queryTerms(query), limit });
      return { memories: found.map(rowOf) };
    }
    const found = await memories.newest(owner, { limit: limit + 1, ...defined({ after }) });
    const rows = found.slice(0, limit).map(rowOf);
    return { memories: rows, ...defined({ next: found.length > limit ? rows.at(-1)?.id : undefined }) };
  }

  async add(add: AddMemory): Promise<{ id: string }> {
    const { text, author, memoryId, customMetadata, ...owner } = checkedInput(addMemory, add).input;
    const { memories, now } = this.#open();
    const memory = {
      key: memoryId === undefined ? `new/${randomUUID()}` : idKey(memoryId),
      content: { role: 'user', parts: [{ text }] },
      saidAt: await now(),
      ...memoryTerms(text),
      ...defined({ author, metadata: customMetadata }),
    };
    const [id = ''] = await memories.add(owner, [memory]);
    return { id };
  }

  async delete(which: DeleteMemory): Promise<boolean> {
    const { id, ...owner } = checkedInput(deleteMemory, which).input;
    return (await this.#open().memories.delete(owner, [id])) > 0;
  }

  async deleteAll(given: DeleteMemories): Promise<number> {
    const owner = checkedInput(deleteMemories, given).input;
    return await this.#open().memories.delete(owner);
  }
}

function rowOf({ metadata, ...memory }: FoundMemory): Memory {
  return { ...memory, ...defined({ customMetadata: metadata }) };
}
