import type { Event } from '../events/event.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import type { Embeddings } from '../memory/embeddings.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';

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

const MOST_RESULTS = 100;
/** One function, so that the same options are the same settings: runners of one app share its turns by them. */
const EVERY_EVENT: (event: Event) => boolean = () => true;

export const MEMORY = {
  index: option.choice(['turns', 'never']),
  include: option.callback('a function', EVERY_EVENT),
  results: option.checked(option.count(10), (results) =>
    results > MOST_RESULTS ? `expected at most ${MOST_RESULTS}, got ${results}` : undefined,
  ),
  embeddings: option.custom(embeddingsOf),
  service: option.custom(serviceOf),
} satisfies OptionsFor<MemoryOptions>;

/** {@link MemoryOptions} that were checked, their defaults filled in. */
export interface MemorySettings extends Resolved<typeof MEMORY> {
  readonly index: 'turns' | 'never';
}

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
  const given = options === true ? {} : options;
  return readGroup(MEMORY, { owner, options: given, field }, (memory): MemorySettings => {
    const { service, index = service === undefined ? 'turns' : 'never' } = memory;
    return { ...memory, index };
  });
}

function embeddingsOf(given: unknown, read: OptionReader, name: string): Embeddings {
  const { model, embed } = Object(given) as Partial<Embeddings>;
  if (typeof model === 'string' && model !== '' && typeof embed === 'function') return given as Embeddings;
  const lacks = typeof embed === 'function' ? 'the name of a `model`' : 'embed()';
  return read.fail(name, `expected embeddings, got ${kindOf(given)} without ${lacks}`);
}

const SERVICE_METHODS = ['addSessionToMemory', 'searchMemory'] satisfies (keyof BaseMemoryService)[];

function serviceOf(given: unknown, read: OptionReader, name: string): BaseMemoryService {
  const missing = SERVICE_METHODS.find((method) => typeof Object(given)[method] !== 'function');
  if (missing === undefined) return given as BaseMemoryService;
  return read.fail(name, `expected a memory service, got ${kindOf(given)} without ${missing}()`);
}
