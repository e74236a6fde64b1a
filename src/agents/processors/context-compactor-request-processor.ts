import { isCompactedEvent } from '../../events/compacted-event.ts';
import type { Event } from '../../events/event.ts';
import { kindOf } from '../../schema/kind-of.ts';
import type { OptionReader } from '../../schema/options.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { type BaseContextCompactor, ContextCompactionTrigger } from '../compaction/base-context-compactor.ts';
import { BaseLlmRequestProcessor, siteOf } from './base-llm-processor.ts';
import { CONTENT_REQUEST_PROCESSOR, DEFAULT_REQUEST_PROCESSORS } from './request-processors.ts';

/**
 * Asks compactors, in order, whether the context is to be smaller, until one of them has made a compacted event. It is recorded before
 * it is used: an attempt after a crash finds it, and no model is asked for it twice. Semantics: the class of `@google/adk` 2.0.0, which stops
 * after any compactor; one that makes no event compacts each request anew, and the next one is asked, too.
 */
export class ContextCompactorRequestProcessor extends BaseLlmRequestProcessor {
  readonly #compactors: readonly BaseContextCompactor[];

  constructor(compactors: readonly BaseContextCompactor[]) {
    super();
    this.#compactors = compactors;
  }

  override async *runAsync(
    invocationContext: InvocationContext,
    llmRequest: LlmRequest,
  ): AsyncGenerator<Event, void, void> {
    const init = InvocationContext.initOf(invocationContext);
    const view = init.transcript;
    if (view?.revise === undefined) return;
    const events = [...view.events()];
    const own = new InvocationContext({ ...init, transcript: { ...view, events: () => events } });
    for (const [index, compactor] of this.#compactors.entries()) {
      if (!(await compactor.shouldCompact(own))) continue;
      const made = await this.#compacted(compactor, own, {
        key: `holdfast:compaction.${index}`,
        events,
        llmRequest,
      });
      view.revise(events);
      if (made.length === 0) continue;
      yield* made;
      return;
    }
  }

  async #compacted(
    compactor: BaseContextCompactor,
    own: InvocationContext,
    { key, events, llmRequest }: { key: string; events: Event[]; llmRequest: LlmRequest },
  ): Promise<Event[]> {
    const once = InvocationContext.initOf(own).stepOnce;
    const recorded = (await once?.get(key)) as Event[] | undefined;
    if (recorded !== undefined) {
      events.push(...recorded);
      return recorded;
    }
    const { trigger = ContextCompactionTrigger.Auto } = compactor;
    const hooks = siteOf(llmRequest)?.compaction;
    const before = new Set(events);
    await hooks?.before({ invocationContext: own, trigger });
    await compactor.compact(own);
    await hooks?.after({ invocationContext: own, trigger });
    const made = events.filter((event) => !before.has(event) && isCompactedEvent(event));
    if (made.length > 0) await once?.put(key, made);
    return made;
  }
}

/**
 * The processors of an agent that names none: those of ADK, and its compactors before the contents are made.
 *
 * @throws DefinitionError naming the compactor that is none.
 */
export function defaultProcessors(
  read: OptionReader,
  given: unknown = [],
): readonly BaseLlmRequestProcessor[] {
  if (!Array.isArray(given))
    return read.fail('contextCompactors', `expected a list of compactors, got ${kindOf(given)}`);
  for (const [index, compactor] of given.entries()) {
    if (typeof compactor?.shouldCompact === 'function' && typeof compactor.compact === 'function') continue;
    const problem = `expected a compactor (shouldCompact and compact), got ${kindOf(compactor)}`;
    read.fail(`contextCompactors[${index}]`, problem);
  }
  if (given.length === 0) return DEFAULT_REQUEST_PROCESSORS;
  const contents = DEFAULT_REQUEST_PROCESSORS.indexOf(CONTENT_REQUEST_PROCESSOR);
  return Object.freeze(
    DEFAULT_REQUEST_PROCESSORS.toSpliced(contents, 0, new ContextCompactorRequestProcessor([...given])),
  );
}
