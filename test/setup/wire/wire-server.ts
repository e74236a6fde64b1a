import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An answer in nobody's words, which each protocol says in its own. */
export interface WireAnswer {
  /** Reasoning before all else, signed by the server. */
  reasoning?: string;
  /** Pieces of the text, as they are streamed. */
  text?: string | string[];
  calls?: {
    id?: string;
    name: string;
    args: unknown /** In the place of the arguments' JSON. */;
    raw?: string;
  }[];
  usage?: { input: number; output: number; cached?: number; written?: number; reasoning?: number };
  /** Cut off by the limit of tokens, or refused. */
  finish?: 'length' | 'refused';
}

/** In the place of an answer. */
export interface WireFault {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** The connection ends after so many events of the stream; 0: before the response. */
  cutAfter?: number;
  /** The stream ends as if it were whole, after so many events. */
  endAfter?: number;
  /** A stream's last event tells of this error. Its answer comes before it. */
  streamError?: { type: string; message: string };
  /** Never answered. */
  hang?: true;
}

/** The facts of a request that scripts decide by. */
export interface WireTurn {
  /** From 0, refused requests not counted. */
  index: number;
  model: string;
  streaming: boolean;
  /** Text of the last message of the user. */
  userText: string;
  /** Results after the last message of the model, in order. */
  results: { id: string; output: string }[];
  tools: string[];
  /** Steps of the turn whose calls are answered: a repeated request has as many. */
  answered: number;
  body: Record<string, unknown>;
}

/** Counts the steps since the user's last text by the kinds of what stands in a request, in order. */
export function answeredSteps(kinds: readonly ('user' | 'said' | 'result')[]): number {
  const turn = kinds.slice(kinds.lastIndexOf('user') + 1);
  return turn.filter((kind, index) => kind === 'result' && turn[index - 1] !== 'result').length;
}

/** A model that answers each step of a turn with the next of these, and a repeated request as before. */
export function inSteps(...steps: WireAnswer[]): WireScript {
  return ({ answered }) => steps[answered] ?? { text: 'done' };
}

type WireSaid = WireAnswer | { fault: WireFault; answer?: WireAnswer };

export type WireScript = (turn: WireTurn) => WireSaid | Promise<WireSaid>;

/** A refused request: what the real provider says. */
export class WireRefusal extends Error {
  readonly status: number;
  readonly type: string;

  constructor(message: string, { status = 400, type = 'invalid_request_error' } = {}) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

export interface WireEvent {
  event?: string;
  data: unknown;
}

/** What a protocol is to the server. */
export interface WireProtocol {
  path: string;
  /** For protocols whose requests differ by their address: the request with what the address says, if there is such an address. */
  asked?(path: string, body: Record<string, unknown>): Record<string, unknown> | undefined;
  /** @throws WireRefusal */
  check(body: Record<string, unknown>, headers: Record<string, string | string[] | undefined>): void;
  turn(body: Record<string, unknown>): Omit<WireTurn, 'index' | 'body'>;
  whole(answer: WireAnswer, turn: WireTurn): unknown;
  events(answer: WireAnswer, turn: WireTurn): WireEvent[];
  /** The framing of a stream: server-sent events by default. */
  stream?: { type: string; frame(event: WireEvent): string | Uint8Array };
  errorEvent(error: { type: string; message: string }): WireEvent;
  errorBody(message: string, type: string): unknown;
}

const SERVER_SENT: NonNullable<WireProtocol['stream']> = {
  type: 'text/event-stream',
  frame({ event, data }) {
    const line = typeof data === 'string' ? data : JSON.stringify(data);
    return `${event ? `event: ${event}\n` : ''}data: ${line}\n\n`;
  },
};

/** A server on loopback that speaks a provider's protocol, and refuses what the provider refuses. */
export class WireServer implements AsyncDisposable {
  readonly requests: Record<string, unknown>[] = [];
  readonly refusals: string[] = [];
  script: WireScript = () => ({ text: 'ok' });
  #url = '';
  readonly #close: () => Promise<void>;

  static async start(protocol: WireProtocol, script?: WireScript): Promise<WireServer> {
    let server: WireServer | undefined;
    const http = createServer(async (incoming, response) => {
      try {
        await server?.answer(protocol, JSON.parse(await text(incoming)), incoming, response);
      } catch (error) {
        if (!(error instanceof WireRefusal)) throw error;
        server?.refusals.push(error.message);
        sendJson(response, error.status, protocol.errorBody(error.message, error.type));
      }
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    server = new WireServer(async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    });
    server.#url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`;
    if (script !== undefined) server.script = script;
    return server;
  }

  private constructor(close: () => Promise<void>) {
    this.#close = close;
  }

  /** With `/v1`. */
  get url(): string {
    return this.#url;
  }

  reset(script: WireScript): void {
    this.script = script;
    this.requests.length = 0;
    this.refusals.length = 0;
  }

  async answer(
    protocol: WireProtocol,
    sent: Record<string, unknown>,
    {
      url = '',
      headers,
    }: { url?: string | undefined; headers: Record<string, string | string[] | undefined> },
    response: ServerResponse,
  ): Promise<void> {
    const path = url.startsWith('/v1') ? url.slice('/v1'.length) : '';
    const body = protocol.asked?.(path, sent) ?? (path === protocol.path ? sent : undefined);
    if (body === undefined) throw new WireRefusal(`Unknown request URL: ${url}`, { status: 404 });
    protocol.check(body, headers);
    const turn: WireTurn = { ...protocol.turn(body), index: this.requests.length, body };
    this.requests.push(body);
    const scripted = await this.script(turn);
    const { fault, answer = {} } = 'fault' in scripted ? scripted : { fault: {}, answer: scripted };
    if (fault.hang) return;
    if (fault.status !== undefined) {
      const { status, headers: own = {}, body: said = protocol.errorBody('scripted', 'api_error') } = fault;
      sendJson(response, status, said, own);
      return;
    }
    if (fault.cutAfter === 0) {
      response.destroy();
      return;
    }
    if (!turn.streaming) {
      sendJson(response, 200, protocol.whole(answer, turn));
      return;
    }
    const { type, frame } = protocol.stream ?? SERVER_SENT;
    response.writeHead(200, { 'content-type': type });
    const all = protocol.events(answer, turn);
    const events = all.slice(0, fault.cutAfter ?? fault.endAfter);
    if (fault.streamError !== undefined) events.splice(-1, 1, protocol.errorEvent(fault.streamError));
    for (const event of events) await new Promise((written) => response.write(frame(event), written));
    if (fault.cutAfter === undefined) response.end();
    else response.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The server's own signature of a text of reasoning: another one is refused. */
export function signatureOf(text: string): string {
  return createHmac('sha256', 'wire').update(text).digest('base64');
}

export function textPieces({ text: said = [] }: WireAnswer): string[] {
  return typeof said === 'string' ? (said === '' ? [] : [said]) : said;
}

export function argumentsOf({ args, raw }: NonNullable<WireAnswer['calls']>[number]): string {
  return raw ?? JSON.stringify(args);
}

/** An id for a call that the script gives none, unlike any other of the conversation. */
export function callId(prefix: string, turn: WireTurn, index: number): string {
  return `${prefix}_${turn.index}_${index}_${signatureOf(JSON.stringify(turn.body)).replaceAll(/\W/g, '').slice(0, 8)}`;
}

export function assertFields(value: object, known: readonly string[], where: string): void {
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined) throw new WireRefusal(`Unknown parameter: '${where}${other}'.`);
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const COMBINED = ['anyOf', 'oneOf', 'allOf'];

/** What OpenAI and Anthropic both say of a tool. */
export function assertTool(name: unknown, schema: unknown, names: Set<string>): void {
  if (typeof name !== 'string' || !NAME.test(name))
    throw new WireRefusal(`Invalid tool name: ${String(name)}`);
  if (names.has(name)) throw new WireRefusal(`Tool names must be unique: ${name}`);
  names.add(name);
  const { type, ...rest } = (schema ?? {}) as Record<string, unknown>;
  if (type !== 'object')
    throw new WireRefusal(`Invalid schema for function '${name}': schema must be of type "object"`);
  const combined = COMBINED.find((keyword) => keyword in rest);
  if (combined !== undefined) {
    throw new WireRefusal(
      `Invalid schema for function '${name}': '${combined}' is not supported at the top level`,
    );
  }
}
