import type { Event } from '../events/event.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import type { Embeddings } from '../memory/embeddings.ts';
import { defined } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';

/** Settings of an app’s memory. */
export interface MemoryOptions {
  /**
   * `'turns'`: after each turn, texts of the user and of agents are added to the memory. `'never'`: only what programs and tools add
   * themselves.
   *
   * @default 'turns' with the store, 'never' with a `service`, as in ADK
   */
  index?: 'turns' | 'never';
  /**
   * Chooses the events that are remembered, of those that have text.
   *
   * @default all
   * @example include: (event) => event.author === 'user'
   */
  include?: (event: Event) => boolean;
  /** Memories that a search finds, at most 100. @default 10 */
  results?: number;
  /** Has memories found by their meaning, too. @default they are found by words */
  embeddings?: Embeddings;
  /** A service of your own, in place of the store. It is asked as it is: `results` and `embeddings` are not for it. */
  service?: BaseMemoryService;
}

/** {@link MemoryOptions} that were checked, their defaults filled in. */
export interface MemorySettings {
  readonly index: 'turns' | 'never';
  readonly include: (event: Event) => boolean;
  readonly results: number;
  readonly embeddings?: Embeddings;
  readonly service?: BaseMemoryService;
}

const FIELDS = ['index', 'include', 'results', 'embeddings', 'service'] satisfies (keyof MemoryOptions)[];

const MOST_RESULTS = 100;
const DEFAULT_RESULTS = 10;
/** One function, so that the same options are the same settings: runners of one app share its turns by them. */
const EVERY_EVENT = () => true;

/**
 * @returns undefined for an app without a memory.
 * @throws DefinitionError
 */
export function resolveMemory(
  owner: string,
  field: string,
  options: unknown = false,
): MemorySettings | undefined {
  if (options === false) return undefined;
  const given: unknown = options === true ? {} : options;
  assertKnownFields(owner, given, FIELDS, { field });
  const read = new OptionReader(owner, given, field);
  const { include = EVERY_EVENT, embeddings, service } = given as MemoryOptions;
  if (typeof include !== 'function') read.fail('include', `expected a function, got ${kindOf(include)}`);
  const results = read.count('results', DEFAULT_RESULTS);
  if (results > MOST_RESULTS) read.fail('results', `expected at most ${MOST_RESULTS}, got ${results}`);
  if (embeddings !== undefined) assertEmbeddings(read, embeddings);
  if (service !== undefined) assertService(read, service);
  return Object.freeze({
    index: read.choice('index', ['turns', 'never'], service === undefined ? 'turns' : 'never'),
    include,
    results,
    ...defined({ embeddings, service }),
  });
}

function assertEmbeddings(read: OptionReader, given: unknown): void {
  const { model, embed } = Object(given) as Partial<Embeddings>;
  if (typeof model === 'string' && model !== '' && typeof embed === 'function') return;
  const lacks = typeof embed === 'function' ? 'the name of a `model`' : 'embed()';
  read.fail('embeddings', `expected embeddings, got ${kindOf(given)} without ${lacks}`);
}

const SERVICE_METHODS = ['addSessionToMemory', 'searchMemory'] satisfies (keyof BaseMemoryService)[];

function assertService(read: OptionReader, given: unknown): void {
  const missing = SERVICE_METHODS.find((method) => typeof Object(given)[method] !== 'function');
  if (missing === undefined) return;
  read.fail('service', `expected a memory service, got ${kindOf(given)} without ${missing}()`);
}
