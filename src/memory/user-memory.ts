import { LONGEST_MEMORY } from '../contract/memories.ts';
import { LONGEST_NAME } from '../contract/message-limits.ts';
import { aborting } from '../net/guarded-fetch.ts';
import { sha256Digest } from '../protocol/identity.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { FoundMemory, MemoryOwner } from '../store/memories/memory-store.ts';
import type { Store } from '../store/store.ts';
import type { BaseMemoryService, MemoryEntry, SearchMemoryResponse } from './base-memory-service.ts';
import { type Embeddings, embeddedDocuments, embeddedQuery, LONGEST_SEARCH } from './embeddings.ts';
import { InvalidMemory, MemoryServiceFailed } from './memory-errors.ts';
import { queryTerms, withTerms } from './memory-terms.ts';
import { textOf } from './passages.ts';

/** Beginning of the year 1 and end of the year 9999, milliseconds since the epoch. */
const TIMES = { first: -62_135_596_800_000, last: 253_402_300_799_999 };
/** Characters of a query that count. */
const LONGEST_QUERY = 4_000;
/** Memories that are added at once. */
const MOST_ADDED = 100;
/** Bytes of a memory's metadata as JSON. */
const LARGEST_METADATA = 16 * 1024;

/** Searches and adds memories for a context. */
export interface ContextMemory {
  search(query: string): Promise<SearchMemoryResponse>;
  add(memories: readonly MemoryEntry[]): Promise<void>;
}

export interface UserMemoryInit {
  store: Pick<Store, 'memories' | 'now'>;
  owner: MemoryOwner;
  /** Memories of a search, at most. */
  results: number;
  embeddings?: Embeddings | undefined;
  signal: AbortSignal;
  /** Hears of embeddings that failed: memories are then found by their words. */
  warn: (error: unknown) => void;
  /** Key of the call or the step. Its attempts add the same memories. */
  key: string;
}

/** Memories of a user in the store, as one attempt of a call, or of a step, sees them. */
export class UserMemory implements ContextMemory {
  readonly #init: UserMemoryInit;
  #added = 0;

  constructor(init: UserMemoryInit) {
    this.#init = init;
  }

  async search(query: string): Promise<SearchMemoryResponse> {
    const { store, owner, results, embeddings } = this.#init;
    const asked = textOfQuery(query);
    const embedding = await embeddedQuery(embeddings, asked, this.#init);
    const found = await store.memories.search(owner, {
      terms: queryTerms(asked),
      limit: results,
      ...defined({ embedding }),
    });
    return { memories: found.map(entryOf) };
  }

  async add(memories: readonly MemoryEntry[]): Promise<void> {
    const { store, owner, key, embeddings, signal } = this.#init;
    const first = this.#added;
    this.#added += memories.length;
    const given = checkedMemories(memories);
    const texts = given.map(({ text }) => text);
    const vectors = await embeddedDocuments(embeddings, texts, signal);
    const now = await store.now();
    const added = (await withTerms(given, signal)).map(({ entry, text, terms, words }, index) => ({
      // Each context of a call counts from 0: the digest tells their texts apart.
      key: entry.id === undefined ? `${key}/${first + index}/${sha256Digest(text)}` : idKey(entry.id),
      content: entry.content,
      saidAt: entry.timestamp === undefined ? now : Date.parse(entry.timestamp),
      terms,
      words,
      ...defined({ author: entry.author, metadata: entry.customMetadata, embedding: vectors[index] }),
    }));
    await store.memories.add(owner, added);
  }
}

/** Memories of a user in an app's own service. An attempt that ends right after it has added memories may add them again. */
export class ServiceMemory implements ContextMemory {
  readonly #service: BaseMemoryService;
  readonly #signal: AbortSignal;
  readonly #owner: { appName: string; userId: string };

  readonly #warn: (error: unknown) => void;

  /** @param warn hears of searches that failed: user code may go on without memories. */
  constructor(
    service: BaseMemoryService,
    { app, userId }: MemoryOwner,
    signal: AbortSignal,
    warn: (error: unknown) => void,
  ) {
    this.#service = service;
    this.#signal = signal;
    this.#warn = warn;
    this.#owner = { appName: app, userId };
  }

  async search(query: string): Promise<SearchMemoryResponse> {
    const asked = textOfQuery(query);
    try {
      return await this.#found(asked);
    } catch (error) {
      if (!this.#signal.aborted) this.#warn(error);
      throw error;
    }
  }

  async #found(query: string): Promise<SearchMemoryResponse> {
    const inTime = AbortSignal.any([this.#signal, AbortSignal.timeout(LONGEST_SEARCH)]);
    const answer: unknown = await askService('searchMemory', inTime, () =>
      this.#service.searchMemory({ ...this.#owner, query }),
    );
    if (isRecord(answer) && Array.isArray(answer.memories) && answer.memories.every(isEntry)) {
      return { memories: answer.memories };
    }
    throw new MemoryServiceFailed(
      `the memory service answered searchMemory with ${kindOf(answer)}; it has to answer with { memories }, each with its content`,
    );
  }

  async add(memories: readonly MemoryEntry[]): Promise<void> {
    const given = checkedMemories(memories).map(({ entry }) => entry);
    if (this.#service.addMemory === undefined) {
      const problem = 'the memory service of the app can’t add memories: it has no method addMemory';
      throw new MemoryServiceFailed(problem, { retryable: false });
    }
    await askService('addMemory', this.#signal, () =>
      this.#service.addMemory?.({ ...this.#owner, memories: given }),
    );
  }
}

/**
 * The answer of a method of an app's own service, unless the signal fires before.
 *
 * @throws MemoryServiceFailed
 */
export async function askService<T>(
  method: keyof BaseMemoryService,
  signal: AbortSignal,
  ask: () => Promise<T> | undefined,
): Promise<T | undefined> {
  try {
    return await aborting(Promise.resolve(ask()), signal);
  } catch (cause) {
    if (signal.aborted && !isTimeout(signal.reason)) throw signal.reason;
    const problem = `the memory service failed in ${method}: ${thrownMessage(cause)}`;
    throw new MemoryServiceFailed(problem, { cause });
  }
}

function entryOf({ id, content, author, saidAt, metadata }: FoundMemory): MemoryEntry {
  const timestamp = new Date(saidAt).toISOString();
  return { content, ...defined({ author }), timestamp, id, ...defined({ customMetadata: metadata }) };
}

/** @throws InvalidMemory naming the entry and the field. */
export function checkedMemories(memories: unknown): { entry: MemoryEntry; text: string }[] {
  if (!Array.isArray(memories) || memories.length > MOST_ADDED) {
    const got = Array.isArray(memories) ? memories.length : kindOf(memories);
    throw new InvalidMemory(`memories: expected a list of at most ${MOST_ADDED}, got ${got}`);
  }
  return memories.map((given: unknown, index) => {
    const field = `memories[${index}]`;
    if (!isEntry(given)) throw new InvalidMemory(`${field}.content: expected a content with parts`);
    const { author, timestamp, id, customMetadata } = given;
    for (const [name, value] of Object.entries({ author, timestamp, id })) {
      if (value === undefined || isName(value)) continue;
      const problem = `expected a text of at most ${LONGEST_NAME} characters without NUL`;
      throw new InvalidMemory(`${field}.${name}: ${problem}, got ${kindOf(value)}`);
    }
    if (timestamp !== undefined && !isTime(Date.parse(timestamp))) {
      throw new InvalidMemory(`${field}.timestamp: expected a time as in ISO 8601, of the years 1 to 9999`);
    }
    if (customMetadata !== undefined && !isRecord(customMetadata)) {
      throw new InvalidMemory(`${field}.customMetadata: expected an object, got ${kindOf(customMetadata)}`);
    }
    assertSmall(customMetadata, `${field}.customMetadata`);
    const text = textOf(given.content);
    if (text === '' || text.length > LONGEST_MEMORY) {
      const problem = `expected text of 1 to ${LONGEST_MEMORY} characters, got ${text.length}`;
      throw new InvalidMemory(`${field}.content: ${problem}`);
    }
    return { entry: given, text };
  });
}

/** @throws InvalidMemory for what is no JSON as well. */
function assertSmall(metadata: Record<string, unknown> | undefined, field: string): void {
  if (metadata === undefined) return;
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(metadata));
  } catch (cause) {
    throw new InvalidMemory(`${field}: expected JSON: ${thrownMessage(cause)}`, { cause });
  }
  if (bytes <= LARGEST_METADATA) return;
  throw new InvalidMemory(`${field}: expected at most ${LARGEST_METADATA} bytes of JSON, got ${bytes}`);
}

function isEntry(value: unknown): value is MemoryEntry {
  if (!isRecord(value) || !isRecord(value.content)) return false;
  const { parts } = value.content;
  return Array.isArray(parts) && parts.every(isRecord);
}

function textOfQuery(query: unknown): string {
  if (typeof query === 'string') return query.slice(0, LONGEST_QUERY).toWellFormed();
  throw new TypeError(`searchMemory: expected the query as text, got ${kindOf(query)}`);
}

/** One key of a caller's own is one memory. A digest, since an index takes no long keys. */
export function idKey(id: string): string {
  return `id/${sha256Digest(id)}`;
}

function isTime(time: number): boolean {
  return time >= TIMES.first && time <= TIMES.last;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME && !value.includes('\0');
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
