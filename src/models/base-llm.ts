import type { Blob, Content, FunctionDeclaration } from '@google/genai';
import { shortDigest } from '../protocol/identity.ts';
import type { ModelRequest } from './llm-request.ts';
import type { LlmResponse } from './llm-response.ts';
import { ModelError } from './model-errors.ts';

/**
 * An open connection to a live model. Declared so that model classes of ADK programs compile, whose `connect` returns one;
 * Holdfast never opens any. Methods: `BaseLlmConnection` of `@google/adk` 2.0.0.
 */
export interface BaseLlmConnection {
  sendHistory(history: Content[]): Promise<void>;
  sendContent(content: Content): Promise<void>;
  sendRealtime(blob: Blob): Promise<void>;
  sendActivityStart?(): Promise<void>;
  sendActivityEnd?(): Promise<void>;
  receive(): AsyncGenerator<LlmResponse, void, void>;
  close(): Promise<void>;
}

/** What an agent will send its model in each request, as far as its definition tells. */
export interface DefinedRequest {
  /** The agent, for an error. */
  owner: string;
  declarations: readonly FunctionDeclaration[];
  /** JSON Schema of the answer. */
  outputSchema?: unknown;
}

const BASE_LLM = Symbol.for('google.adk.baseModel');

/**
 * A model that agents can call. Extend it to bring your own; errors should be {@link ModelError}s, because only
 * these tell which failures are worth another attempt.
 *
 * Semantics: `BaseLlm` of `@google/adk` 2.0.0.
 *
 * @example
 * class Echo extends BaseLlm {
 *   static override readonly supportedModels = ['echo'];
 *   override async *generateContentAsync(request: LlmRequest) {
 *     yield { content: { role: 'model', parts: request.contents.at(-1)?.parts ?? [] } };
 *   }
 * }
 * LLMRegistry.register(Echo);
 */
export abstract class BaseLlm {
  readonly [BASE_LLM] = true;
  /** Name of the model, e.g. `gemini-2.5-flash`. */
  readonly model: string;

  /** Model names (whole names, or patterns of whole names) that `LLMRegistry.register` offers this class for. */
  static readonly supportedModels: Array<string | RegExp> = [];

  constructor({ model }: { model: string }) {
    this.model = model;
  }

  /**
   * The key of its provider's rate limit: after a 429 no worker of the store asks a model of the same key until the limit
   * is over. Defaults to {@link model}; override it where models of one name have limits of their own, as with several keys or
   * projects, or where several share one. It is shown to operators, and no secret.
   *
   * @example
   * class TeamGemini extends Gemini {
   *   override get limitKey() {
   *     return `team-a/${this.model}`;
   *   }
   * }
   */
  get limitKey(): string {
    return this.model;
  }

  /**
   * Asks the model once.
   *
   * Without `stream` yields one response. With `stream` yields text as it comes in responses marked
   * `partial: true`, and at last the whole answer in one response without the mark.
   *
   * @param llmRequest what to send; never changed.
   * @param stream defaults to false.
   * @param abortSignal ends the request, and its connection, when it fires.
   * @throws ModelError where the model gave no answer.
   */
  abstract generateContentAsync(
    llmRequest: ModelRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void>;

  /**
   * Refuses what the model's provider is known to refuse, before the first turn. By default nothing.
   *
   * @throws DefinitionError
   */
  assertTakes?(defined: DefinedRequest): void;

  /**
   * Live audio and video. Never called: classes of ADK programs have it.
   *
   * @throws ModelError unless the class has its own.
   */
  async connect(_llmRequest: ModelRequest): Promise<BaseLlmConnection> {
    throw new ModelError({
      kind: 'bad_request',
      message: `The model ${JSON.stringify(this.model)} opens no live connection: ask it by generateContentAsync.`,
    });
  }

  /**
   * Makes the request end with a `user` content, which models ask for. Texts: `@google/adk` 2.0.0.
   *
   * @param llmRequest its `contents` get up to two contents more.
   */
  maybeAppendUserContent(llmRequest: ModelRequest): void {
    const { contents } = llmRequest;
    if (contents.length === 0) {
      contents.push({
        role: 'user',
        parts: [{ text: 'Handle the requests as specified in the System Instruction.' }],
      });
    }
    if (contents.at(-1)?.role !== 'user') {
      contents.push({
        role: 'user',
        parts: [
          {
            text: 'Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed.',
          },
        ],
      });
    }
  }
}

/** Whether `value` is a model: a {@link BaseLlm} of this or of another copy of the package, or one of `@google/adk`. */
export function isBaseLlm(value: unknown): value is BaseLlm {
  return typeof value === 'object' && value !== null && BASE_LLM in value && value[BASE_LLM] === true;
}

const LONGEST_KEY = 200;

/**
 * Key of a model's rate limit.
 *
 * @param requested the request's model, where a callback may have named another one than the agent's.
 */
export function limitKeyOf(model: BaseLlm, requested: string = model.model): string {
  // Models of `@google/adk` have none.
  const own = (model.limitKey as string | undefined) ?? model.model;
  const key = (requested === model.model ? own : requested).toWellFormed().replaceAll('\0', '\ufffd');
  return key.length <= LONGEST_KEY ? key : `${key.slice(0, LONGEST_KEY).toWellFormed()}~${shortDigest(key)}`;
}
