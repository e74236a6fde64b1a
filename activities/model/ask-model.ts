import { CallbackFailed } from '../../src/agents/callbacks.ts';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { withRouteOf } from '../../src/agents/routed-llm.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import { type BuiltRequest, buildRequest, type RequestSite } from '../../src/flows/build-request.ts';
import { draftOf, yieldedBy } from '../../src/flows/draft-event.ts';
import { withoutDeepArguments } from '../../src/flows/left-out-arguments.ts';
import { thawRequest } from '../../src/models/llm-request.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import type { OwnCall } from '../../src/protocol/turn.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import type { StepTime, UserCode } from './user-code.ts';

interface ModelQuestion {
  site: RequestSite;
  callbacks: ModelCallbacks;
  time: StepTime;
  stream: boolean;
  /** Told of partial responses as they come, as callbacks have left them; never after the attempt has ended. */
  onPartial?: ((response: LlmResponse) => void) | undefined;
  /** In the place of the model, and of readers of the request. */
  ownCall?: OwnCall | undefined;
  /** Runs what asks the model, unless it must not be asked now. */
  asking: (request: LlmRequest, ask: () => Promise<LlmResponse>) => Promise<LlmResponse>;
}

/** The result of a question to the model. */
export interface ModelAnswer {
  /** Absent where user code has ended the invocation before the model was asked. */
  response?: LlmResponse;
  /** Events of processors, in order. */
  events: DraftEvent[];
  built: BuiltRequest;
}

/** User code has failed after a model's answer, which is paid: it must not be asked for again. */
export class AnswerLost extends HoldfastError {
  override readonly name = 'AnswerLost';
  /** The latest of the model. */
  readonly response: LlmResponse;

  constructor(cause: Error & { code?: unknown }, response: LlmResponse) {
    const code = typeof cause.code === 'string' ? cause.code : 'HOLDFAST_CALLBACK_FAILED';
    super(code, cause.message, { cause });
    this.response = response;
  }
}

/** One attempt to ask a model: its request, the callbacks around it, its answer. */
export class ModelExchange {
  readonly #question: ModelQuestion;
  #built: BuiltRequest | undefined;
  #asked = false;
  /** A partial response that callbacks look at. */
  #looked: LlmResponse | undefined;

  constructor(question: ModelQuestion) {
    this.#question = question;
  }

  /** Whether the model itself was asked, so that a failure from then on is its own. */
  get asked(): boolean {
    return this.#asked;
  }

  /** As it was asked, or would have been; undefined until it is built. */
  get request(): LlmRequest | undefined {
    return this.#built?.request;
  }

  /** Of request processors; empty until the request is built. */
  get events(): readonly DraftEvent[] {
    return this.#built?.events ?? [];
  }

  /** @throws AnswerLost, HOLDFAST_BUDGET_EXCEEDED, and what building the request, callbacks and the model throw. */
  async answer(): Promise<ModelAnswer> {
    const { site, callbacks, ownCall, time } = this.#question;
    time.renew();
    const built = await time.race(buildRequest(site), (problem) => unbuilt(site.agent.name, problem));
    this.#built = built;
    const { events, request } = built;
    const { invocation } = site.init;
    if (invocation?.endInvocation) return { events, built };
    if (ownCall !== undefined) return { response: responseOf(ownCall), events, built };
    const short = await callbacks.before(request);
    if (invocation?.endInvocation && short === undefined) return { events, built };
    if (callbacks.seeRequests && short === undefined) built.settle();
    if (short !== undefined) return modelAnswerOf(built, await callbacks.process(short));
    return await this.#ask(built);
  }

  /**
   * The answer of error callbacks in the place of a model that has failed for good.
   *
   * @throws AnswerLost, and the errors of the callbacks.
   */
  async recovered(error: Error): Promise<ModelAnswer | undefined> {
    const { callbacks, time } = this.#question;
    const built = this.#built;
    if (built === undefined || !callbacks.seeErrors) return undefined;
    time.renew();
    const response = await callbacks.onError(built.request, error);
    return response && (await this.#seen(built, response));
  }

  async #ask(built: BuiltRequest): Promise<ModelAnswer> {
    const { asking, callbacks, time } = this.#question;
    const response = await asking(built.request, () => {
      this.#asked = true;
      return time.race(this.#lastResponse(built), (problem) => this.#late(problem));
    });
    if (!callbacks.seeResponses) return { response, events: built.events, built };
    return await this.#seen(built, response);
  }

  async #lastResponse({ request }: BuiltRequest): Promise<LlmResponse> {
    const { site, stream, time, callbacks, onPartial } = this.#question;
    const { signal } = time;
    let last: LlmResponse | undefined;
    for await (const response of site.agent.canonicalModel.generateContentAsync(request, stream, signal)) {
      // A model that doesn't heed its signal is not waited for.
      signal.throwIfAborted();
      if (!response.partial) last = response;
      else if (callbacks.seeResponses) await this.#partial(response);
      else onPartial?.(response);
    }
    if (last !== undefined) return withoutDeepArguments(last);
    const empty = `the model ${request.model} ended its stream without a response`;
    throw new ModelError({ kind: 'network', message: empty });
  }

  async #partial(response: LlmResponse): Promise<void> {
    const { callbacks, onPartial } = this.#question;
    this.#looked = response;
    const seen = await this.#guarded(response, () => callbacks.after(response));
    this.#looked = undefined;
    onPartial?.({ ...seen.response, partial: true });
  }

  async #seen(built: BuiltRequest, response: LlmResponse): Promise<ModelAnswer> {
    // An answer that came late is paid as well.
    this.#question.time.renew();
    return modelAnswerOf(
      built,
      await this.#guarded(response, () => this.#question.callbacks.after(response)),
    );
  }

  #late(problem: string): Error {
    const looked = this.#looked;
    if (looked === undefined) return timeout(problem);
    const { name: agent } = this.#question.site.agent;
    const callback = 'afterModelCallback';
    return new AnswerLost(new CallbackFailed({ agent, callback, problem, retryable: false }), looked);
  }

  async #guarded<T>(response: LlmResponse, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.#question.time.isOver || !(error instanceof Error)) throw error;
      throw new AnswerLost(error, response);
    }
  }
}

function responseOf({ tool: name, args }: OwnCall): LlmResponse {
  return { content: { role: 'model', parts: [{ functionCall: { name, args } }] } };
}

function modelAnswerOf(
  built: BuiltRequest,
  { response, events }: { response: LlmResponse; events: DraftEvent[] },
): ModelAnswer {
  return { response, events: [...built.events, ...events], built };
}

/** No model was asked yet: what hangs is user code. */
function unbuilt(agent: string, problem: string): CallbackFailed {
  const callback = 'an instruction, a toolset or a request processor';
  return new CallbackFailed({ agent, callback, problem, retryable: true });
}

function timeout(message: string): ModelError {
  return new ModelError({ kind: 'timeout', message });
}

/** A response as callbacks and processors have left it, with what processors have said about it. */
interface ProcessedResponse {
  response: LlmResponse;
  events: DraftEvent[];
}

/**
 * The user code around a model call: the plugins of its app, then its agent's callbacks, then its response processors. Semantics:
 * `callLlmAsync` and `postprocess` of `@google/adk` 2.0.0, and after-callbacks for the answer of an error callback, as in adk-go.
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
    return await this.process(
      answer === undefined ? response : withRouteOf(agent.canonicalModel, response, answer),
    );
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
