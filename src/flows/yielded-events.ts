import type {
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
} from '../agents/processors/base-llm-processor.ts';

const MOST_EVENTS = 1_000;

/**
 * What a processor yields for one request or response. An endless one would hold its worker, and not only its
 * turn: what is yielded without waiting lets no timer fire.
 *
 * @throws TypeError for what is no generator.
 * @throws RangeError after 1,000 events.
 */
export async function* yieldedBy(
  processor: BaseLlmRequestProcessor | BaseLlmResponseProcessor,
  events: AsyncIterable<unknown>,
): AsyncGenerator<unknown, void> {
  if (typeof events?.[Symbol.asyncIterator] !== 'function') {
    throw new TypeError(
      `runAsync of ${processor.constructor.name} must be an async generator (async *runAsync)`,
    );
  }
  let count = 0;
  for await (const event of events) {
    count += 1;
    if (count > MOST_EVENTS) throw new RangeError(`it yielded more than ${MOST_EVENTS} events`);
    yield event;
  }
}
