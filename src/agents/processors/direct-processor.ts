import type { Event } from '../../events/event.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import { BaseLlmRequestProcessor } from './base-llm-processor.ts';

const NO_EVENTS: readonly Event[] = [];

/** A request processor that yields no events, so that a request need not wait for its generator. */
export abstract class DirectProcessor extends BaseLlmRequestProcessor {
  abstract process(invocationContext: InvocationContext, llmRequest: LlmRequest): void | Promise<void>;

  override async *runAsync(invocationContext: InvocationContext, llmRequest: LlmRequest) {
    await this.process(invocationContext, llmRequest);
    yield* NO_EVENTS;
  }
}

/** Whether calling `process` does what `runAsync` does: a subclass may have a `runAsync` of its own. */
export function isDirect(processor: BaseLlmRequestProcessor): processor is DirectProcessor {
  return processor.runAsync === DirectProcessor.prototype.runAsync;
}
