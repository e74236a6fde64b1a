import type { GenerateContentParameters, GoogleGenAI } from '@google/genai';
import { secretsInHeaders } from '../net/removed-secrets.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { BaseLlm } from './base-llm.ts';
import {
  type GeminiConnection,
  isOnVertex,
  type ResolvedConnection,
  resolveConnection,
} from './gemini-connection.ts';
import { GeminiExchange, type GeminiVariables, geminiVariables } from './gemini-exchange.ts';
import { geminiParameters } from './gemini-request.ts';
import type { ModelRequest } from './llm-request.ts';
import { createLlmResponse, type LlmResponse } from './llm-response.ts';
import { ModelError, toModelError } from './model-errors.ts';
import { namingSchema, namingTools } from './refused-tools.ts';
import { StreamAggregator } from './stream-aggregator.ts';

const GEMINI = Symbol.for('google.adk.geminiModel');

export interface GeminiParams extends GeminiConnection {
  /** Name of the model; on Vertex AI also a resource name. Defaults to `gemini-2.5-flash`. */
  model?: string;
}

/**
 * Gemini by `@google/genai`, on the Gemini API or Vertex AI. Making one reads no environment, needs no key and does
 * no I/O; the SDK is loaded and the client made at the first call.
 *
 * Each call is one request: no retries, no automatic function calling. Only a response that the provider itself
 * interrupts (finish reason `CONTINUATION`) is continued by the SDK; `automaticContinuation: false` turns that off.
 * Function calls come whole (`streamFunctionCallArguments` is off).
 *
 * Semantics: `Gemini` of `@google/adk` 2.0.0, without live and the Interactions API; a streamed answer ends with
 * the same response that a call without streaming gives.
 *
 * @example
 * const model = new Gemini({ model: 'gemini-2.5-pro', httpOptions: { timeout: 120_000 } });
 */
export class Gemini extends BaseLlm {
  readonly [GEMINI] = true;

  static override readonly supportedModels: Array<string | RegExp> = [
    /gemini-.*/,
    /projects\/[^/]+\/locations\/[^/]+\/endpoints\/.+/,
    /projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/gemini.+/,
  ];

  // Private to the runtime, so that a logged agent doesn't show the key.
  readonly #given: GeminiConnection;
  readonly #connections = new WeakMap<GeminiVariables, Connection>();

  /** @throws DefinitionError naming the wrong parameter. */
  constructor(params: GeminiParams = {}) {
    assertParams(params);
    const { model, ...connection } = params;
    super({ model: model || 'gemini-2.5-flash' });
    this.#given = connection;
  }

  /** Whether it asks Vertex AI, and not the Gemini API: as it was given, else as the environment says now. */
  get vertexai(): boolean {
    return isOnVertex(this.#given);
  }

  /** Whether it was given a key or a project, and so asks the environment for none. */
  get hasOwnAccess(): boolean {
    return Boolean(this.#given.apiKey ?? this.#given.project);
  }

  /**
   * The SDK's client. The model is asked by it, so a subclass that overrides it asks another one: in tests, for example.
   *
   * @throws ModelError where no credentials are found, and before the first request, which loads the SDK.
   */
  get apiClient(): GoogleGenAI {
    if (sdk === undefined) {
      const message =
        'Gemini.apiClient is there from the first request on: override it to bring a client of your own.';
      throw new ModelError({ kind: 'bad_request', message });
    }
    const connection = this.#connection();
    connection.client ??= new sdk.GoogleGenAI(connection.resolved.options);
    return connection.client;
  }

  /** @throws ModelError where the model gave no answer, or a stream broke: then nothing final was yielded. */
  override async *generateContentAsync(
    llmRequest: ModelRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const aborted = AbortSignal.any(
      [abortSignal, llmRequest.config?.abortSignal].filter((signal) => signal !== undefined),
    );
    const abandoned = new AbortController();
    const exchange = new GeminiExchange(
      llmRequest.config?.httpOptions?.fetch ?? this.#given.httpOptions?.fetch,
    );
    let secrets: string[] = [];
    let finished = false;
    try {
      aborted.throwIfAborted();
      // 60 ms and 1.2 MB of source, which definitions, clients and the CLI's help don't need.
      sdk ??= await import('@google/genai');
      const { models, vertexai } = this.apiClient;
      const { resolved } = this.#connections.get(geminiVariables()) ?? {};
      const { headers } = llmRequest.config?.httpOptions ?? {};
      secrets = [...(resolved?.secrets ?? []), ...secretsInHeaders(headers)];
      const parameters = geminiParameters(this.#completed(llmRequest), {
        model: llmRequest.model ?? this.model,
        vertexai: vertexai === true,
        fetch: exchange.fetch,
        abortSignal: AbortSignal.any([aborted, abandoned.signal]),
      });
      if (stream) yield* streamed(models, parameters);
      else yield createLlmResponse(await models.generateContent(parameters));
      finished = true;
    } catch (error) {
      const failure = toModelError(error, { ...exchange.facts, abortSignal: aborted, secrets });
      throw namingTools(namingSchema(failure, llmRequest.config), llmRequest.config);
    } finally {
      // The SDK lets go of a stream that isn't read to its end without closing the connection.
      if (!finished) abandoned.abort();
    }
  }

  #completed(llmRequest: ModelRequest): ModelRequest {
    const request = { ...llmRequest, contents: [...llmRequest.contents] };
    this.maybeAppendUserContent(request);
    return request;
  }

  #connection(): Connection {
    const variables = geminiVariables();
    const known = this.#connections.get(variables);
    if (known !== undefined) return known;
    const connection = { resolved: resolveConnection(this.#given) };
    this.#connections.set(variables, connection);
    return connection;
  }
}

interface Connection {
  resolved: ResolvedConnection;
  client?: GoogleGenAI;
}

let sdk: typeof import('@google/genai') | undefined;

/** Whether `value` is a {@link Gemini}, of this or of another copy of the package. */
export function isGemini(value: unknown): value is Gemini {
  return typeof value === 'object' && value !== null && GEMINI in value && value[GEMINI] === true;
}

async function* streamed(
  models: GoogleGenAI['models'],
  parameters: GenerateContentParameters,
): AsyncGenerator<LlmResponse, void> {
  const aggregator = new StreamAggregator();
  for await (const chunk of await models.generateContentStream(parameters)) {
    yield* aggregator.add(chunk);
  }
  if (aggregator.complete) {
    yield aggregator.whole();
    return;
  }
  const { chunks } = aggregator;
  throw new ModelError({
    kind: 'network',
    message: `The model's stream ended ${chunks === 0 ? 'empty' : `after ${chunks} chunks, without a finish reason`}.`,
  });
}

const PARAMS: Record<keyof GeminiParams, 'string' | 'boolean' | 'object'> = {
  model: 'string',
  apiKey: 'string',
  vertexai: 'boolean',
  project: 'string',
  location: 'string',
  headers: 'object',
  httpOptions: 'object',
};

function assertParams(params: unknown): void {
  assertKnownFields('Gemini', params, Object.keys(PARAMS), { unsupported: ['useInteractionsApi'] });
  for (const [field, expected] of Object.entries(PARAMS)) {
    const value = params[field];
    const actual = kindOf(value);
    if (value === undefined || actual === expected) continue;
    throw new DefinitionError({ owner: 'Gemini', field, problem: `expected ${expected}, got ${actual}` });
  }
}
