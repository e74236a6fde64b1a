import { HoldfastError } from '../contract/error.ts';
import { entryOf } from '../contract/error-codes.ts';
import { causesOf, thrownField } from '../schema/thrown-message.ts';
import { parseProviderError, redactSecrets, retryAfterMs } from './provider-error.ts';

/** Why a model call failed. */
export type ModelErrorKind =
  | 'rate_limited'
  | 'unavailable'
  | 'timeout'
  | 'conflict'
  | 'network'
  | 'authentication'
  | 'bad_request'
  | 'not_found'
  | 'aborted'
  | 'unknown';

/** Stable code of a {@link ModelError}: `HOLDFAST_MODEL_` and its kind. */
export type ModelErrorCode = `HOLDFAST_MODEL_${Uppercase<ModelErrorKind>}`;

export interface ModelErrorParams {
  kind: ModelErrorKind;
  message: string;
  /** HTTP status, where there was a response. */
  status?: number | undefined;
  /** Defaults to whether the kind is `rate_limited`, `unavailable`, `timeout`, `conflict` or `network`. */
  retryable?: boolean;
  /** Milliseconds to wait before the next attempt. */
  retryAfterMs?: number | undefined;
  /**
   * Whether the request may have reached the provider. One that has not is counted as no call.
   *
   * @default true
   */
  wasSent?: boolean;
}

/**
 * A model call that gave no answer. Never carries the provider's error object or a cause, because these may hold
 * the API key.
 *
 * @example
 * throw new ModelError({ kind: 'not_found', message: 'There is no model "x": pull it first.' });
 */
export class ModelError extends HoldfastError {
  override readonly name = 'ModelError';
  declare readonly code: ModelErrorCode;
  readonly kind: ModelErrorKind;
  /** HTTP status, where there was a response. */
  override readonly status: number | undefined;
  /** Milliseconds that the provider asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /** Whether it counts towards the attempts of a call: a rate limit or an abort doesn't, everything else does. */
  readonly countsAsFailure: boolean;
  /** Whether the request may have reached the provider. */
  readonly wasSent: boolean;

  constructor({ kind, message, status, retryable, retryAfterMs, wasSent = true }: ModelErrorParams) {
    super(codeOf(kind), message, retryable === undefined ? {} : { retryable });
    this.kind = kind;
    this.countsAsFailure = kind !== 'rate_limited' && kind !== 'aborted';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.wasSent = wasSent;
  }
}

/**
 * The refusal of a model's provider to answer so soon, where an error is one or was caused by one: whatever user code asked the model, it
 * is to be run again later, and has not failed. Undefined for any other error.
 */
export function rateLimitIn(thrown: unknown): { retryAfterMs: number | undefined } | undefined {
  const limit = causesOf(thrown).find(
    (error) =>
      thrownField(error, 'code') === codeOf('rate_limited') && thrownField(error, 'retryable') === true,
  );
  if (limit === undefined) return undefined;
  const wait = thrownField(limit, 'retryAfterMs');
  return { retryAfterMs: typeof wait === 'number' ? wait : undefined };
}

function codeOf(kind: ModelErrorKind): ModelErrorCode {
  return `HOLDFAST_MODEL_${kind.toUpperCase() as Uppercase<ModelErrorKind>}`;
}

/** Facts of a failed call besides the thrown value. */
export interface FailedCall {
  /** The refusing response: SDKs keep neither its headers nor, where its body is broken, its status. */
  response?: { status: number; headers: Headers };
  /**
   * How far it came. A failure while `preparing` is one of the request; one while `answering`, after the provider
   * began a successful response, is one of the connection. Defaults to `sent`: nothing can be told from it.
   */
  progress?: 'preparing' | 'sent' | 'answering';
  /** The caller's signal. An abort that it didn't ask for is a timeout. */
  abortSignal?: AbortSignal;
  /** Values that must not appear in the message, such as the API key. */
  secrets?: readonly string[];
  /** The kind, where the caller knows it and no signal and no response say another. */
  kind?: ModelErrorKind;
  /** Sentences at the end of messages, by kind. Defaults to Gemini's. */
  advice?: Partial<Record<ModelErrorKind, string>>;
}

/**
 * Classes the error that a model call threw. 408, 409, 429, 5xx, timeouts and failures of the network are retryable, the
 * rest isn't; the header `x-should-retry: true | false` overrides that. (Rules: OpenAI's and Temporal's agent SDKs.)
 *
 * The message has what the provider said, at most 2 KB of it, without keys, and what to do.
 *
 * @example
 * try {
 *   return await provider.complete(prompt, { signal });
 * } catch (error) {
 *   throw toModelError(error, { abortSignal: signal, secrets: [apiKey] });
 * }
 */
export function toModelError(error: unknown, call: FailedCall = {}): ModelError {
  if (error instanceof ModelError) return error;
  const text = textOfCauses(error).slice(0, LONGEST_READ);
  const said = parseProviderError(text);
  const status = call.response?.status ?? statusOf(error);
  const kind = kindOf(error, { call, status, text });
  const wasSent = call.progress !== 'preparing';
  const shouldRetry = call.response?.headers.get('x-should-retry');
  return new ModelError({
    kind,
    wasSent,
    message: describe(wasSent ? MEANING[kind] : (UNSENT[kind] ?? MEANING[kind]), status, {
      name: said?.status,
      said: redactSecrets((said?.message || text).slice(0, LONGEST_SEARCHED), call.secrets),
      advice: (call.advice ?? ADVICE)[kind],
    }),
    status,
    ...(shouldRetry === 'true' && { retryable: true }),
    ...(shouldRetry === 'false' && { retryable: false }),
    retryAfterMs: retryAfterMs(call.response?.headers, said),
  });
}

/** Characters of a provider's error that are read, and that are searched for secrets: a few are told. */
const LONGEST_READ = 1024 * 1024;
const LONGEST_SEARCHED = 64 * 1024;

interface Failure {
  call: FailedCall;
  status: number | undefined;
  text: string;
}

function kindOf(error: unknown, { call, status, text }: Failure): ModelErrorKind {
  const { abortSignal } = call;
  if (abortSignal?.aborted) return isNamed(abortSignal.reason, 'TimeoutError') ? 'timeout' : 'aborted';
  if (isNamed(error, 'TimeoutError')) return 'timeout';
  if (isNamed(error, 'AbortError')) return abortSignal ? 'timeout' : 'aborted';
  if (status !== undefined)
    return isNamed(error, 'GaxiosError') ? signInKind(status) : statusKind(status, text);
  if (call.kind !== undefined) return call.kind;
  if (isNetworkFailure(error)) return 'network';
  if (call.progress === 'answering') return 'network';
  // google-auth-library throws plain errors where it finds no usable credentials.
  if (/credentials|client_email|private_key/i.test(text)) return 'authentication';
  return call.progress === 'preparing' ? 'bad_request' : 'unknown';
}

function statusKind(status: number, text: string): ModelErrorKind {
  // Gemini answers a wrong key with 400.
  if (status === 400 && /API_KEY_INVALID|API key not valid/i.test(text)) return 'authentication';
  if (status === 401 || status === 403) return 'authentication';
  if (status === 404) return 'not_found';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 409) return 'conflict';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'unavailable';
  return status >= 400 ? 'bad_request' : 'unknown';
}

/** Google's sign-in answers with statuses of its own: 400 is a revoked credential there. */
function signInKind(status: number): ModelErrorKind {
  const kind = statusKind(status, '');
  return entryOf(codeOf(kind))?.retryable ? kind : 'authentication';
}

const NETWORK_CODE =
  /^(UND_ERR_\w+|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOTFOUND|EAI_\w+|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN))$/;

function isNetworkFailure(error: unknown): boolean {
  return causes(error).some(
    (cause) =>
      NETWORK_CODE.test(String(property(cause, 'code'))) ||
      (cause instanceof TypeError && /^(fetch failed|terminated)/.test(cause.message)),
  );
}

/** The error, what caused it, and what caused that; an AggregateError's errors as well. */
function causes(error: unknown, depth = 0): unknown[] {
  if (depth > 5 || typeof error !== 'object' || error === null) return [error];
  const errors = property(error, 'errors');
  const below = [property(error, 'cause'), ...(Array.isArray(errors) ? errors : [])];
  return [
    error,
    ...below.filter((cause) => cause !== undefined).flatMap((cause) => causes(cause, depth + 1)),
  ];
}

function textOfCauses(error: unknown): string {
  return [...new Set(causes(error).map(wordsOf))].join(': ');
}

function wordsOf(cause: unknown): string {
  // The engine quotes a piece of the text it can't parse, which may be a piece of a key.
  if (cause instanceof SyntaxError) return 'the response is no valid JSON';
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String(property(cause, 'code') ?? cause.name);
}

function statusOf(error: unknown): number | undefined {
  const status = property(error, 'status');
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function isNamed(value: unknown, name: string): boolean {
  return value instanceof Error && value.name === name;
}

const MEANING: Record<ModelErrorKind, string> = {
  rate_limited: 'The model provider limits the rate of calls',
  unavailable: 'The model provider failed',
  timeout: 'The model provider took too long',
  conflict: 'The model provider reports a conflict',
  network: 'The connection to the model provider failed',
  authentication: 'The model provider refused the credentials',
  bad_request: 'The model provider refused the request',
  not_found: 'The model provider knows no such model',
  aborted: 'The model call was aborted by its caller',
  unknown: 'The model call failed',
};

/** The provider was not asked. */
const UNSENT: Partial<Record<ModelErrorKind, string>> = {
  authentication: 'There are no credentials for the model provider, and it was not asked',
};

const ADVICE: Partial<Record<ModelErrorKind, string>> = {
  authentication:
    'Check the API key (GEMINI_API_KEY, or `apiKey` of Gemini), or on Vertex AI the Google Cloud credentials, ' +
    'and that its project may use this model.',
  bad_request:
    'The same request would fail again: check what the message names among contents, tools and generateContentConfig.',
  not_found:
    'Check the name of the model, on Vertex AI also `project` and `location`; some models are only in the beta API ' +
    '(GOOGLE_GENAI_API_VERSION=v1beta).',
};

const LONGEST_QUOTE_BYTES = 2048;

function describe(
  meaning: string,
  status: number | undefined,
  { name, said, advice: told }: { name: string | undefined; said: string; advice: string | undefined },
): string {
  const label = [status, name].filter(Boolean).join(' ');
  const opening = label ? `${meaning} (${label})` : meaning;
  const quote = said.trim() === '' ? '' : `: ${cut(said.trim())}`;
  const advice = told ? ` — ${told}` : '';
  return `${opening}${quote}${advice}`;
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= LONGEST_QUOTE_BYTES) return text;
  return `${bytes
    .subarray(0, LONGEST_QUOTE_BYTES)
    .toString()
    .replace(/(?<!�)�+$/, '')}…`;
}
