import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { draftOf } from '../../src/flows/draft-event.ts';
import { yieldedBy } from '../../src/flows/processors/yielded-events.ts';
import { thawRequest } from '../../src/flows/thaw-request.ts';
import type { LlmRequest } from '../../src/models/llm-request.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { DraftEvent } from '../../src/store/store.ts';
import type { Context } from '../../src/tools/context.ts';
import type { UserCode } from '../user-code.ts';

/** A response as callbacks and processors have left it, with what processors have said about it. */
export interface ProcessedResponse {
  response: LlmResponse;
  events: DraftEvent[];
}

/**
 * What is asked around a model call: the plugins of its app, then its agent's callbacks, then its response processors.
 * Semantics: `callLlmAsync` and `postprocess` of `@google/adk` 2.0.0, and after-callbacks for what an error callback answers,
 * as in adk-go.
 */
export class ModelCallbacks {
  readonly #code: UserCode<LlmAgent>;
  readonly #contextOf: () => Context;
  #context: Context | undefined;

  /** Whether anybody may edit requests. */
  readonly seeRequests: boolean;
  /** Whether anybody looks at responses: those of an agent without are taken as they come. */
  readonly seeResponses: boolean;
  readonly seeErrors: boolean;

  constructor(code: UserCode<LlmAgent>, contextOf: () => Context) {
    const { agent, plugins } = code;
    this.#code = code;
    this.#contextOf = contextOf;
    this.seeRequests = plugins.has('beforeModelCallback') || agent.canonicalBeforeModelCallbacks.length > 0;
    this.seeResponses =
      plugins.has('afterModelCallback') ||
      agent.canonicalAfterModelCallbacks.length > 0 ||
      agent.responseProcessors.length > 0;
    this.seeErrors = plugins.has('onModelErrorCallback') || agent.canonicalOnModelErrorCallbacks.length > 0;
  }

  /** The response in the model's place, if there is one. */
  async before(request: LlmRequest): Promise<LlmResponse | undefined> {
    const { agent } = this.#code;
    if (!this.seeRequests) return undefined;
    const context = this.#shared();
    thawRequest(request);
    return await this.#code.first(
      'beforeModelCallback',
      { callbackContext: context, llmRequest: request },
      agent.canonicalBeforeModelCallbacks,
      { context, request },
    );
  }

  /** @throws CallbackFailed, PluginFailed */
  async after(response: LlmResponse): Promise<ProcessedResponse> {
    const { agent } = this.#code;
    const context = this.#shared();
    const answer = await this.#code.first(
      'afterModelCallback',
      { callbackContext: context, llmResponse: response },
      agent.canonicalAfterModelCallbacks,
      { context, response },
    );
    return await this.process(answer ?? response);
  }

  /** The response in the error's place, if there is one. */
  async onError(request: LlmRequest, error: Error): Promise<LlmResponse | undefined> {
    const context = this.#shared();
    thawRequest(request);
    return await this.#code.first(
      'onModelErrorCallback',
      { callbackContext: context, llmRequest: request, error },
      this.#code.agent.canonicalOnModelErrorCallbacks,
      { context, request, error },
    );
  }

  /** Runs the agent's response processors, which may change the response. */
  async process(response: LlmResponse): Promise<ProcessedResponse> {
    const { agent } = this.#code;
    if (agent.responseProcessors.length === 0) return { response, events: [] };
    const { invocationContext } = this.#shared();
    const events: DraftEvent[] = [];
    for (const processor of agent.responseProcessors) {
      const callback = `response processor ${processor.constructor.name}`;
      await this.#code.callback(callback, async () => {
        for await (const event of yieldedBy(processor, processor.runAsync(invocationContext, response))) {
          events.push(draftOf(event, invocationContext));
        }
      });
    }
    return { response, events };
  }

  #shared(): Context {
    this.#context ??= this.#contextOf();
    return this.#context;
  }
}
