import type {
  BlockedReason,
  FinishReason,
  FunctionCall,
  GenerateContentResponseUsageMetadata,
  Part,
} from '@google/genai';
import { MockGeminiError } from './gemini-error.ts';

export type GeminiFinishReason = `${FinishReason}`;
export type GeminiBlockReason = `${BlockedReason}`;

/** How a reply goes over the wire. Absent fields fall back to the mock server's own options. */
export type GeminiPace = {
  /** Milliseconds before the first byte. */
  latencyMs?: number;
  /** Milliseconds between two chunks of a stream. */
  chunkDelayMs?: number;
  /** Words of text in each chunk of a stream. */
  wordsPerChunk?: number;
};

export type ReplyPart = Readonly<{ part: Part; unsigned?: boolean }>;

/** Model output: text, thoughts and function calls, in order. */
export type ContentReply = Readonly<{
  kind: 'content';
  parts: readonly ReplyPart[];
  finishReason?: GeminiFinishReason;
  usage?: GenerateContentResponseUsageMetadata;
  pace?: GeminiPace;
}>;

export type BlockedReply = Readonly<{ kind: 'blocked'; reason: GeminiBlockReason; pace?: GeminiPace }>;
export type RawReply = Readonly<{ kind: 'raw'; responses: readonly object[]; pace?: GeminiPace }>;
export type HangReply = Readonly<{ kind: 'hang'; pace?: GeminiPace }>;

export type ErrorReply = Readonly<{
  kind: 'error';
  status: number;
  message: string;
  retryAfterMs?: number;
  details: readonly object[];
  after?: ContentReply;
  pace?: GeminiPace;
}>;

export type DisconnectReply = Readonly<{
  kind: 'disconnect';
  after?: ContentReply;
  afterChunks: number;
  pace?: GeminiPace;
}>;

/** A reply of a script. Made by the builders of this module, never by hand. */
export type GeminiReply = ContentReply | BlockedReply | RawReply | ErrorReply | DisconnectReply | HangReply;

/** A reply, or several pieces of model output that make one reply: `[text('Looking.'), call('search')]`. */
export type GeminiReplyLike = GeminiReply | readonly ContentReply[];

/** A text part. With `thoughtSignature` the part carries that signature (base64). */
export function text(value: string, options: { thoughtSignature?: string } = {}): ContentReply {
  return content([{ part: { text: value, ...options } }]);
}

/** A thought summary, as the API sends with `thinkingConfig.includeThoughts`. */
export function thought(value: string): ContentReply {
  return content([{ part: { text: value, thought: true } }]);
}

export type CallOptions = {
  /** The call's id. By default the mock server's `callIds` option decides whether there is one. */
  id?: string;
  /** A signature of your own (base64), or `false` for a call without one. Default: as Gemini 3 signs. */
  thoughtSignature?: string | false;
};

/**
 * A function call.
 *
 * @example
 * call('get_weather', { city: 'Tartu' })
 */
export function call(
  name: string,
  args: Record<string, unknown> = {},
  options: CallOptions = {},
): ContentReply {
  const { id, thoughtSignature } = options;
  const functionCall: FunctionCall = { ...(id !== undefined && { id }), name, args };
  if (thoughtSignature === false) return content([{ part: { functionCall }, unsigned: true }]);
  return content([{ part: { functionCall, ...(thoughtSignature && { thoughtSignature }) } }]);
}

/**
 * Parallel function calls of one reply.
 *
 * @example
 * calls([{ name: 'get_weather', args: { city: 'Tartu' } }, { name: 'get_time', id: 'call-2' }])
 */
export function calls(list: readonly (FunctionCall & { name: string })[]): ContentReply {
  return merge(list.map(({ id, name, args }) => call(name, args, { id })));
}

export type ReplyOptions = GeminiPace & {
  /** Default `STOP`. With `SAFETY`, `MAX_TOKENS` and the like the candidate keeps the parts given. */
  finishReason?: GeminiFinishReason;
  /** Replaces the estimated token counts; `totalTokenCount` is their sum unless given. */
  usage?: GenerateContentResponseUsageMetadata;
};

/**
 * Sets pace, usage or finish reason of a reply.
 *
 * @example
 * reply([text('Let me see.'), call('search', { q: 'x' })], { latencyMs: 50, usage: { promptTokenCount: 900 } })
 * @throws {MockGeminiError} `MOCK_GEMINI_BAD_REPLY` when `finishReason` or `usage` is given for a reply
 * that has no model output.
 */
export function reply(of: GeminiReplyLike, options: ReplyOptions): GeminiReply {
  const { finishReason, usage, ...pace } = options;
  const base = toReply(of);
  checkPace(pace, 'MOCK_GEMINI_BAD_REPLY');
  const paced = { ...base, pace: { ...base.pace, ...pace } };
  if (finishReason === undefined && usage === undefined) return paced;
  if (paced.kind !== 'content') {
    throw badReply(`finishReason and usage need text or calls, this reply is of kind '${base.kind}'`);
  }
  return { ...paced, finishReason: finishReason ?? paced.finishReason, usage: usage ?? paced.usage };
}

/** A candidate that stopped early: `stopped('SAFETY')`, `stopped('MAX_TOKENS', 'The first words')`. */
export function stopped(finishReason: GeminiFinishReason, partialText?: string): ContentReply {
  const parts = partialText === undefined ? [] : text(partialText).parts;
  return { ...content(parts), finishReason };
}

/** The prompt was blocked: `promptFeedback.blockReason` and no candidates. See {@link stopped} for a blocked answer. */
export function blocked(reason: GeminiBlockReason = 'SAFETY'): BlockedReply {
  return { kind: 'blocked', reason };
}

export type ErrorReplyOptions = {
  /** Milliseconds to wait before a retry: a `google.rpc.RetryInfo` detail and a `Retry-After` header. */
  retryAfterMs?: number;
  /** More `error.details`. */
  details?: readonly object[];
  /** Streams this first, then the error as a chunk. A call that does not stream gets the error at once. */
  after?: GeminiReplyLike;
};

/**
 * An API error; the status name follows from the HTTP status.
 *
 * @example
 * error(429, 'Quota exceeded', { retryAfterMs: 1500 })
 * @throws {MockGeminiError} `MOCK_GEMINI_BAD_REPLY` for a status outside 400..599.
 */
export function error(status: number, message?: string, options: ErrorReplyOptions = {}): ErrorReply {
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw badReply(`error status must be an integer of 400 to 599, got ${String(status)}`);
  }
  return {
    kind: 'error',
    status,
    message: message ?? `The mock server was scripted to answer with ${status}.`,
    retryAfterMs: options.retryAfterMs,
    details: options.details ?? [],
    after: options.after && toContent(options.after),
  };
}

/**
 * A response exactly as given. A list is the chunks of a stream; a call that does not stream gets them merged.
 *
 * @example
 * raw({ candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] })
 */
export function raw(response: object | readonly object[]): RawReply {
  return { kind: 'raw', responses: Array.isArray(response) ? response : [response] };
}

/**
 * Destroys the socket: before the first byte, or, with a reply, after `afterChunks` chunks of it (default 1).
 * A call that does not stream gets half of the body.
 */
export function disconnect(after?: GeminiReplyLike, options: { afterChunks?: number } = {}): DisconnectReply {
  return { kind: 'disconnect', after: after && toContent(after), afterChunks: options.afterChunks ?? 1 };
}

/** Never answers: the request stays open until the client goes away or the mock server closes. */
export function hang(): HangReply {
  return { kind: 'hang' };
}

const KINDS: ReadonlySet<unknown> = new Set(['content', 'blocked', 'raw', 'error', 'disconnect', 'hang']);

/**
 * One reply out of what a script gave.
 *
 * @throws {MockGeminiError} `MOCK_GEMINI_BAD_REPLY` for what no builder has made.
 */
export function toReply(value: GeminiReplyLike): GeminiReply {
  if (isReplyList(value)) return merge(value.map((item) => toContent(item)));
  if (typeof value === 'object' && value !== null && KINDS.has(value.kind)) return value;
  const shape = value === null ? 'null' : typeof value;
  throw badReply(`expected a reply made by text(), call(), error() or another builder, got ${shape}`);
}

export function checkPace(pace: GeminiPace, code: 'MOCK_GEMINI_BAD_OPTION' | 'MOCK_GEMINI_BAD_REPLY'): void {
  for (const field of ['latencyMs', 'chunkDelayMs'] as const) {
    const value = pace[field];
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw new MockGeminiError(code, `${field} must be milliseconds of 0 or more, got ${String(value)}`);
  }
  const words = pace.wordsPerChunk;
  if (words === undefined || (Number.isInteger(words) && words >= 1)) return;
  throw new MockGeminiError(code, `wordsPerChunk must be an integer of 1 or more, got ${String(words)}`);
}

function isReplyList(value: GeminiReplyLike): value is readonly ContentReply[] {
  return Array.isArray(value);
}

function toContent(value: GeminiReplyLike): ContentReply {
  const one = toReply(value);
  if (one.kind === 'content') return one;
  throw badReply(`only text, thoughts and calls can be combined, got a reply of kind '${one.kind}'`);
}

function content(parts: readonly ReplyPart[]): ContentReply {
  return { kind: 'content', parts };
}

function merge(list: readonly ContentReply[]): ContentReply {
  const join = (all: ContentReply, next: ContentReply): ContentReply => ({
    ...all,
    ...next,
    parts: [...all.parts, ...next.parts],
  });
  return list.reduce(join, content([]));
}

function badReply(message: string): MockGeminiError {
  return new MockGeminiError('MOCK_GEMINI_BAD_REPLY', message);
}
