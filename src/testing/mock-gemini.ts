import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { outliveErrors } from '../net/outlive-errors.ts';
import { messageOf } from '../protocol/message-of.ts';
import { checkRequest } from './gemini-check.ts';
import { GeminiRefusal, MockGeminiError } from './gemini-error.ts';
import type { Json } from './gemini-json.ts';
import { type RecordedRequest, type Refusal, RequestLog } from './gemini-record.ts';
import { checkPace, type GeminiPace } from './gemini-reply.ts';
import {
  checkCredentials,
  headersWithoutSecrets,
  parseBody,
  parseRoute,
  readBody,
  toGeminiRequest,
} from './gemini-request.ts';
import { type GeminiScript, type ScriptRunner, scriptRunner } from './gemini-script.ts';
import { ConnectionLost, sendJson, sendReply } from './gemini-send.ts';
import { ThoughtSignatures } from './gemini-signatures.ts';

export type { GeminiScript };

export type MockGeminiOptions = GeminiPace & {
  /** Its answers: replies in order, or a function called with each request. */
  script: GeminiScript;
  /** The only API key it accepts. Default: any key, but there must be one. */
  apiKey?: string;
  /** TCP port on 127.0.0.1. Default 0: a free one. */
  port?: number;
  /** Refuse what the real API refuses. Default true. */
  strict?: boolean;
  /** Sign function calls, and want the signatures back. Default: for models whose name starts with `gemini-3`. */
  thoughtSignatures?: boolean;
  /** Give ids to function calls that have none. Default: for models whose name starts with `gemini-3`. */
  callIds?: boolean;
  /** Whether it keeps the process up until it is closed. Default true. */
  ref?: boolean;
};

export interface MockGemini extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, for `httpOptions.baseUrl`. */
  readonly url: string;
  /** Environment that points `@google/genai` to the mock server. */
  readonly env: Readonly<{ GOOGLE_GEMINI_BASE_URL: string; GEMINI_API_KEY: string }>;
  /** The requests that reached the script, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** The requests that were refused or that the script had no answer for: empty in a test of a correct client. */
  readonly refusals: readonly Refusal[];
  /**
   * Waits until `count` requests have reached the script since the start or the last reset.
   *
   * @throws {MockGeminiError} `MOCK_GEMINI_WAIT_TIMEOUT` after `timeoutMs` milliseconds (default 30,000),
   * `MOCK_GEMINI_CLOSED` when it closes before.
   */
  waitForRequests(count: number, options?: { timeoutMs?: number }): Promise<readonly RecordedRequest[]>;
  /** Forgets all requests and refusals and starts over, with another script if given. */
  reset(script?: GeminiScript): void;
  /** Destroys all connections and stops listening. May be called more than once. */
  close(): Promise<void>;
}

/**
 * Starts a local HTTP server that speaks the Gemini API: `generateContent` and `streamGenerateContent`, with answers
 * from a script and the real API's refusals. A client cannot tell the difference.
 *
 * @example
 * await using gemini = await startMockGemini({
 *   script: [call('get_weather', { city: 'Tartu' }), text('Sunny in Tartu.')],
 * });
 * const ai = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: gemini.url } });
 *
 * @throws {MockGeminiError} `MOCK_GEMINI_BAD_OPTION` or `MOCK_GEMINI_BAD_REPLY`, naming the field; the
 * system's error when the port is taken.
 * @see https://ai.google.dev/api/generate-content
 */
export async function startMockGemini(options: MockGeminiOptions): Promise<MockGemini> {
  checkPace(options, 'MOCK_GEMINI_BAD_OPTION');
  const { port = 0, apiKey } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw badOption(`port must be an integer of 0 to 65535, got ${String(port)}`);
  }
  if (apiKey !== undefined && (typeof apiKey !== 'string' || apiKey === '')) {
    throw badOption('apiKey must be a string that is not empty, or be left out');
  }
  const mock = new LocalGemini(options);
  await mock.listen(port);
  return mock;
}

class LocalGemini implements MockGemini {
  readonly #options: MockGeminiOptions;
  readonly #pace: Required<GeminiPace>;
  readonly #server: Server;
  readonly #log = new RequestLog();
  readonly #signatures: ThoughtSignatures;
  #script: GeminiScript;
  #run: ScriptRunner;
  #url = '';
  #closing: Promise<void> | undefined;

  constructor(options: MockGeminiOptions) {
    this.#options = options;
    const { latencyMs = 0, chunkDelayMs = 0, wordsPerChunk = 4 } = options;
    this.#pace = { latencyMs, chunkDelayMs, wordsPerChunk };
    this.#signatures = new ThoughtSignatures(options.thoughtSignatures);
    this.#script = options.script;
    this.#run = scriptRunner(options.script);
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // Longer than clients keep an idle connection, so that no client meets a connection that is just being closed.
    this.#server.keepAliveTimeout = 60_000;
    if (options.ref === false) this.#server.unref().on('connection', (socket) => socket.unref());
  }

  get url(): string {
    return this.#url;
  }

  get env(): MockGemini['env'] {
    return {
      GOOGLE_GEMINI_BASE_URL: this.#url,
      GEMINI_API_KEY: this.#options.apiKey ?? 'gemini-mock',
    };
  }

  get requests(): readonly RecordedRequest[] {
    return this.#log.requests;
  }

  get refusals(): readonly Refusal[] {
    return this.#log.refusals;
  }

  waitForRequests(count: number, options?: { timeoutMs?: number }): Promise<readonly RecordedRequest[]> {
    return this.#log.waitFor(count, options?.timeoutMs);
  }

  reset(script: GeminiScript = this.#script): void {
    this.#run = scriptRunner(script);
    this.#script = script;
    this.#log.clear();
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    outliveErrors(this.#server, 'the mock of Gemini');
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#log.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedAt = Date.now();
    const url = URL.parse(incoming.url ?? '/', 'http://127.0.0.1') ?? new URL('http://127.0.0.1/');
    const controller = new AbortController();
    response.once('close', () => controller.abort());
    let body: Json | undefined;
    try {
      const text = await readBody(incoming);
      const route = parseRoute(incoming.method ?? '', url);
      checkCredentials(incoming, url, this.#options.apiKey);
      body = parseBody(text);
      if (this.#options.strict !== false) checkRequest(route.model, body, this.#signatures);
      await this.#answer(incoming, response, { url, route, body, signal: controller.signal });
    } catch (failure) {
      const isRefusal = failure instanceof GeminiRefusal;
      const isGone =
        failure instanceof ConnectionLost ||
        controller.signal.aborted ||
        response.destroyed ||
        !incoming.complete;
      if (isGone && !isRefusal) return;
      const refusal = isRefusal ? failure : internalError(failure);
      const { code, message, cause } = refusal;
      this.#log.refusals.push({ code, message, path: url.pathname, body, receivedAt, cause });
      if (response.headersSent) response.destroy();
      else if (!isGone) sendJson(response, code, refusal.body);
    }
  }

  async #answer(
    incoming: IncomingMessage,
    response: ServerResponse,
    exchange: { url: URL; route: ReturnType<typeof parseRoute>; body: Json; signal: AbortSignal },
  ): Promise<void> {
    const { url, route, body, signal } = exchange;
    const { model, streaming } = route;
    const headers = headersWithoutSecrets(incoming);
    const path = url.pathname;
    const recorded = this.#log.add({ model, streaming, path, body, headers, receivedAt: Date.now() });
    let isCut = false;
    response.once('finish', () => {
      recorded.answeredAt = Date.now();
    });
    response.once('close', () => {
      recorded.aborted = !response.writableFinished && !isCut && !this.#closing;
    });
    const request = toGeminiRequest(model, body);
    const reply = await this.#run(request, { index: recorded.index, streaming, signal, headers });
    if (signal.aborted) return;
    await sendReply(reply, {
      request,
      response,
      route,
      signal,
      pace: this.#pace,
      signatures: this.#signatures,
      callIds: this.#options.callIds,
      onCut: () => {
        isCut = true;
      },
    });
  }
}

function internalError(cause: unknown): GeminiRefusal {
  const reason = messageOf(cause);
  return new GeminiRefusal(500, `The mock server could not answer: ${reason}`, { cause });
}

function badOption(message: string): MockGeminiError {
  return new MockGeminiError('MOCK_GEMINI_BAD_OPTION', message);
}
