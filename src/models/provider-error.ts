import { variable } from '../environment.ts';
import { REMOVED, withoutSecretsIn } from '../net/removed-secrets.ts';
import { isRecord, parsedJson } from '../protocol/json.ts';

/** The error object of a Google API: `google.rpc.Status` in JSON. */
interface ProviderError {
  code?: number;
  message?: string;
  /** E.g. `RESOURCE_EXHAUSTED`. */
  status?: string;
  details?: Array<Record<string, unknown>>;
}

/**
 * Reads the provider's error out of the text of an `ApiError` of `@google/genai`: the JSON body, which may stand after a prefix
 * (errors inside a stream), in a list, or as text within another body (no JSON content type).
 *
 * @returns undefined where the text isn't such an error.
 */
export function parseProviderError(text: string): ProviderError | undefined {
  const error = errorOf(parsedJson(text.slice(Math.max(0, text.search(/[[{]/)))));
  if (!error) return undefined;
  const inner = typeof error.message === 'string' ? parseProviderError(error.message) : undefined;
  return inner ?? error;
}

function errorOf(body: unknown): ProviderError | undefined {
  if (Array.isArray(body)) return errorOf(body[0]);
  if (!isRecord(body) || !isRecord(body.error)) return undefined;
  const { code, message, status, details } = body.error;
  return {
    ...(typeof code === 'number' && { code }),
    ...(typeof message === 'string' && { message }),
    ...(typeof status === 'string' && { status }),
    ...(Array.isArray(details) && { details: details.filter(isRecord) }),
  };
}

/** Shorter values are words that a message may need, and no keys. */
const SHORTEST_SECRET = 8;
const KEY_VARIABLES = ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY'];

const SECRET_SHAPES: Array<[RegExp, string]> = [
  [/([?&](?:key|api_?key|access_token|token)=)[^&\s"'\\]+/gi, `$1${REMOVED}`],
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']+@/gi, `$1${REMOVED}@`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REMOVED}`],
  [/\bAIza[\w-]{20,}/g, REMOVED],
  [/\bya29\.[\w.-]+/g, REMOVED],
  [/\b(?:sk|gsk|xai)-[\w-]{16,}/g, REMOVED],
];

/**
 * Removes keys from a text that people or logs will see: the given values, those of the key variables of the
 * environment, and all text that looks like a key, a token or a password in a URL.
 *
 * @param secrets values to remove wherever they stand, also JSON- or URL-encoded.
 */
export function redactSecrets(text: string, secrets: readonly string[] = []): string {
  const environment = KEY_VARIABLES.map((name) => variable(name)?.trim() ?? '');
  const values = [...secrets, ...environment].filter((value) => value.length >= SHORTEST_SECRET);
  return SECRET_SHAPES.reduce(
    (rest, [shape, replacement]) => rest.replace(shape, replacement),
    withoutSecretsIn(text, values),
  );
}

/** Longer waits are taken as this: a day. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/**
 * How long the provider asks to wait, in milliseconds: `retry-after-ms`, else `retry-after` (seconds or an HTTP
 * date), else `google.rpc.RetryInfo` in the error's details. At most a day; undefined where nothing readable is
 * said, or no wait.
 */
export function retryAfterMs(
  headers: Headers | undefined,
  error: ProviderError | undefined,
): number | undefined {
  return (
    wait(decimal(headers?.get('retry-after-ms'))) ??
    wait(seconds(headers?.get('retry-after')) ?? untilDate(headers)) ??
    wait(seconds(retryDelay(error)?.replace(/s$/, '')))
  );
}

function decimal(value: string | null | undefined): number | undefined {
  return value && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function seconds(value: string | null | undefined): number | undefined {
  const amount = decimal(value);
  return amount === undefined ? undefined : amount * 1000;
}

/** By the provider's clock, where it says what time it is: the wait holds for all workers. */
function untilDate(headers: Headers | undefined): number | undefined {
  const until = timeIn(headers?.get('retry-after'));
  return until === undefined ? undefined : until - (timeIn(headers?.get('date')) ?? Date.now());
}

function timeIn(value: string | null | undefined): number | undefined {
  const time = value?.trim().endsWith('GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** No wait at all is as good as nothing said: the caller's own back-off must hold, or a limited call would spin. */
function wait(ms: number | undefined): number | undefined {
  return ms === undefined || ms <= 0 ? undefined : Math.min(Math.ceil(ms), LONGEST_WAIT_MS);
}

function retryDelay(error: ProviderError | undefined): string | undefined {
  for (const detail of error?.details ?? []) {
    if (typeof detail.retryDelay === 'string' && `${detail['@type']}`.endsWith('google.rpc.RetryInfo')) {
      return detail.retryDelay;
    }
  }
  return undefined;
}
