import type { Event } from '../events/event.ts';
import type {
  AddEventsToMemoryRequest,
  AddMemoryRequest,
  BaseMemoryService,
  DeleteMemoryRequest,
  MemoryEntry,
  RememberedSession,
  SearchMemoryRequest,
  SearchMemoryResponse,
} from './base-memory-service.ts';
import { memoryTerms } from './memory-terms.ts';
import { textOf } from './passages.ts';

interface Kept {
  entry: MemoryEntry;
  sessionId?: string;
  terms: ReadonlySet<string>;
}

/**
 * Keeps memories in this process, for as long as it runs: for tests, and programs of one process. Semantics: `InMemoryMemoryService` of
 * `@google/adk` 2.0.0, whose search knows words of `A` to `Z` only; this one knows all scripts. Each memory that has a word of the query is
 * found, in the order in which they were added.
 *
 * @example const runner = new InMemoryRunner({ agent, memoryService: new InMemoryMemoryService() });
 */
export class InMemoryMemoryService implements BaseMemoryService {
  /** By user, then by key. */
  readonly #users = new Map<string, Map<string, Kept>>();
  #added = 0;

  async addSessionToMemory({ appName, userId, id, events }: RememberedSession): Promise<void> {
    await this.deleteMemory({ appName, userId, sessionId: id });
    await this.addEventsToMemory({ appName, userId, sessionId: id, events });
  }

  async addEventsToMemory({
    appName,
    userId,
    sessionId,
    events,
    customMetadata,
  }: AddEventsToMemoryRequest): Promise<void> {
    const kept = this.#memoriesOf(appName, userId);
    for (const event of events) {
      const entry = entryOf(event);
      if (entry === undefined) continue;
      const more = customMetadata === undefined ? {} : { customMetadata: structuredClone(customMetadata) };
      keep(kept, `event/${sessionId ?? ''}/${event.id}`, { ...entry, ...more }, sessionId);
    }
  }

  async addMemory({ appName, userId, memories, customMetadata }: AddMemoryRequest): Promise<void> {
    const kept = this.#memoriesOf(appName, userId);
    for (const memory of memories) {
      this.#added += 1;
      const id = memory.id ?? String(this.#added);
      const more = customMetadata === undefined ? {} : { customMetadata };
      keep(kept, `added/${id}`, structuredClone({ ...more, ...memory, id }), undefined);
    }
  }

  async deleteMemory({ appName, userId, ids, sessionId }: DeleteMemoryRequest): Promise<void> {
    const kept = this.#memoriesOf(appName, userId);
    for (const [key, memory] of kept) {
      if (ids !== undefined && !ids.includes(memory.entry.id ?? '')) continue;
      if (sessionId !== undefined && memory.sessionId !== sessionId) continue;
      kept.delete(key);
    }
  }

  async searchMemory({ appName, userId, query }: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    const wanted = memoryTerms(query).terms.filter((term) => !term.endsWith('~'));
    const found = [...this.#memoriesOf(appName, userId).values()].filter(({ terms }) =>
      wanted.some((term) => terms.has(term)),
    );
    return { memories: found.map(({ entry }) => structuredClone(entry)) };
  }

  #memoriesOf(appName: string, userId: string): Map<string, Kept> {
    const key = JSON.stringify([appName, userId]);
    const known = this.#users.get(key) ?? new Map<string, Kept>();
    this.#users.set(key, known);
    return known;
  }
}

function entryOf({ id, content, author, timestamp }: Event): MemoryEntry | undefined {
  if (textOf(content) === '' || content === undefined) return undefined;
  const said = new Date(timestamp).toISOString();
  return {
    ...structuredClone({ content }),
    ...(author === undefined ? {} : { author }),
    timestamp: said,
    id,
  };
}

function keep(kept: Map<string, Kept>, key: string, entry: MemoryEntry, sessionId: string | undefined): void {
  const { terms } = memoryTerms(textOf(entry.content));
  kept.set(key, { entry, terms: new Set(terms), ...(sessionId === undefined ? {} : { sessionId }) });
}
