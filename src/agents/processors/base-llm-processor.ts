import type { Event } from '../../events/event.ts';
import type { LlmResponse } from '../../models/llm-response.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';

/**
 * Changes a request before it is sent. Events that it yields are stored before the model's, in the same transaction; their
 * ids and times are the store's. Semantics: `BaseLlmRequestProcessor` of `@google/adk` 2.0.0.
 */
export abstract class BaseLlmRequestProcessor {
  abstract runAsync(
    invocationContext: InvocationContext,
    llmRequest: LlmRequest,
  ): AsyncGenerator<Event, void, void>;
}

/**
 * Looks at a response, or changes it in place, after the after-model callbacks; at partial ones of a stream, too. Events that
 * it yields for a whole response are stored before the model's. Semantics: `BaseLlmResponseProcessor` of `@google/adk` 2.0.0.
 */
export abstract class BaseLlmResponseProcessor {
  abstract runAsync(
    invocationContext: InvocationContext,
    llmResponse: LlmResponse,
  ): AsyncGenerator<Event, void, void>;
}
