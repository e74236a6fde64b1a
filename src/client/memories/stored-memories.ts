import { randomUUID } from 'node:crypto';
import { DEFAULT_MEMORIES, type MEMORIES, type Memory } from '../../contract/memories.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { getLogger } from '../../logger.ts';
import { memoryTerms, queryTerms } from '../../memory/memory-terms.ts';
import { type StoredMemoryServiceInit, storedMemoryService } from '../../memory/stored-memory-service.ts';
import { idKey } from '../../memory/user-memory.ts';
import { defined } from '../../protocol/json.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { FoundMemory } from '../../store/memories/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

export type MemoryService = Pick<StoredMemoryServiceInit, 'results' | 'embeddings' | 'include'>;

const memoriesOf = (context: StoredContext) => storeOf(context, 'memories').memories;

/** Performs what is done to memories. */
export const storedMemories: Handlers<OperationsOf<typeof MEMORIES>, StoredContext> = {
  'memories.list': async ({ query, limit = DEFAULT_MEMORIES, after, ...owner }, context) => {
    const memories = memoriesOf(context);
    if (query !== undefined) {
      const found = await memories.search(owner, { terms: queryTerms(query), limit });
      return { memories: found.map(rowOf) };
    }
    const found = await memories.newest(owner, { limit: limit + 1, ...defined({ after }) });
    const rows = found.slice(0, limit).map(rowOf);
    return { memories: rows, ...defined({ next: found.length > limit ? rows.at(-1)?.id : undefined }) };
  },
  'memories.add': async ({ text, author, memoryId, customMetadata, ...owner }, context) => {
    const memory = {
      key: memoryId === undefined ? `new/${randomUUID()}` : idKey(memoryId),
      content: { role: 'user', parts: [{ text }] },
      saidAt: await storeOf(context, 'memories').now(),
      ...memoryTerms(text),
      ...defined({ author, metadata: customMetadata }),
    };
    const [id = ''] = await memoriesOf(context).add(owner, [memory]);
    return { id };
  },
  'memories.delete': async ({ id, ...owner }, context) => ({
    deleted: (await memoriesOf(context).delete(owner, [id])) > 0,
  }),
  'memories.deleteAll': async (owner, context) => ({ deleted: await memoriesOf(context).delete(owner) }),
};

/** Memories by ADK's methods, as an app has set its memory. */
export function memoryServiceOver(
  store: Pick<Store, 'memories' | 'now' | 'sessions'>,
  { results, embeddings, include }: MemoryService,
) {
  const { signal } = new AbortController();
  const warn = (error: unknown) =>
    getLogger().warn(`memories were searched by words only: ${thrownMessage(error)}`);
  return storedMemoryService({
    store,
    results,
    embeddings,
    include,
    signal,
    warn,
    key: `new/${randomUUID()}`,
  });
}

function rowOf({ metadata, ...memory }: FoundMemory): Memory {
  return { ...memory, ...defined({ customMetadata: metadata }) };
}
