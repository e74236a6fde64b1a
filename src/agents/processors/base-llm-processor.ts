import type { Event } from '../../events/event.ts';
import type { LlmResponse } from '../../models/llm-response.ts';
import type { BaseTool, LlmRequest } from '../../tools/base-tool.ts';
import type { Context } from '../../tools/context.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import type { ContextCompactionTrigger } from '../compaction/base-context-compactor.ts';

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

type Tools = Readonly<Record<string, BaseTool>>;

/** Gives the tools to offer, or undefined for all of them. */
export type ToolChoice = (params: { callbackContext: Context; tools: Tools }) => Promise<Tools | undefined>;

/** Tells plugins of a compaction. */
export interface CompactionHooks {
  before(params: CompactionParams): Promise<void>;
  after(params: CompactionParams): Promise<void>;
}

interface CompactionParams {
  invocationContext: InvocationContext;
  trigger: ContextCompactionTrigger;
}

/** Dependencies of a request's processors beside their invocation. */
interface ProcessorSite {
  /** Chooses among the tools of the request; absent where nobody wants to. */
  chooseTools?: ToolChoice | undefined;
  /** The invocation has added tools. */
  addsTools: boolean;
  compaction?: CompactionHooks | undefined;
}

const sites = new WeakMap<LlmRequest, ProcessorSite>();

export function setSite(llmRequest: LlmRequest, site: ProcessorSite): void {
  sites.set(llmRequest, site);
}

/** Undefined for a request that user code has made. */
export function siteOf(llmRequest: LlmRequest): ProcessorSite | undefined {
  return sites.get(llmRequest);
}
