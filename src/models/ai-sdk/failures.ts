import { isRecord } from '../../protocol/json.ts';
import { thrownField } from '../../schema/thrown-message.ts';
import { type FailedCall, ModelError, type ModelErrorKind, toModelError } from '../model-errors.ts';

/** Facts of a failed call of an AI SDK model. */
export interface FailedAiSdkCall {
  abortSignal: AbortSignal;
  /** Values that must not appear in the message. */
  secrets: readonly string[];
  progress: NonNullable<FailedCall['progress']>;
  provider: string;
  /** Variable that the provider's key stands in. */
  keyVariable: string | undefined;
}

/** Characters of a body, and of the words that it may have: the time of a search is that of both multiplied. */
const LONGEST_BODY = 64 * 1024;
const LONGEST_WORDS = 1_000;

/** Classes of errors by the names that the AI SDK has for them. https://ai-sdk.dev/docs/reference/ai-sdk-errors */
const KINDS: Record<string, ModelErrorKind> = {
  AI_NoSuchModelError: 'not_found',
  AI_InvalidArgumentError: 'bad_request',
  AI_InvalidPromptError: 'bad_request',
  AI_UnsupportedFunctionalityError: 'bad_request',
  AI_NoSuchProviderReferenceError: 'bad_request',
};

/** Packages look for their keys and settings when they are about to send. */
const UNSENT = ['AI_LoadAPIKeyError', 'AI_LoadSettingError'];

/** Answers that the provider package couldn't read: their messages quote them. */
const UNREADABLE: Record<string, string> = {
  AI_JSONParseError: 'the response is no valid JSON',
  AI_TypeValidationError: 'the response has not the shape that the provider package expects',
  AI_InvalidResponseDataError: 'the response has not the shape that the provider package expects',
  AI_EmptyResponseBodyError: 'the response is empty',
  AI_NoContentGeneratedError: 'the response has no content',
};

/** Kinds of errors that come within a stream, with no status of their own. Names: Anthropic's and OpenAI's. */
const STREAMED: Record<string, number> = {
  overloaded_error: 529,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  invalid_request_error: 400,
  invalid_prompt: 400,
  request_too_large: 413,
};

/** The error of a call through a provider package of the AI SDK, classed as Gemini's are. */
export function failureOf(error: unknown, call: FailedAiSdkCall): ModelError {
  if (error instanceof ModelError) return error;
  const { abortSignal, secrets, progress } = call;
  const facts: FailedCall = { abortSignal, secrets, progress, advice: adviceOf(call) };
  const name = String(thrownField(error, 'name'));
  const status = statusOf(error);
  const isRefusal = status !== undefined && status >= 400;
  // Provider packages wrap what the body of an answer throws.
  const cause = thrownField(error, 'cause');
  if (cause instanceof ModelError && !isRefusal) return cause;
  const unreadable =
    UNREADABLE[name] ?? (status !== undefined && !isRefusal ? UNREADABLE.AI_JSONParseError : undefined);
  if (unreadable !== undefined)
    return toModelError(new Error(unreadable), { ...facts, progress: 'answering' });
  if (status !== undefined) {
    const headers = headersOf(thrownField(error, 'responseHeaders'));
    if (isUsedUp(error)) headers.set('x-should-retry', 'false');
    return toModelError(new Error(wordsOf(error)), { ...facts, response: { status, headers } });
  }
  if (UNSENT.includes(name))
    return toModelError(error, { ...facts, progress: 'preparing', kind: 'authentication' });
  const kind = KINDS[name];
  if (kind !== undefined) return toModelError(error, { ...facts, kind });
  // Provider packages wrap failures of the connection, and say so.
  const isNetwork = thrownField(error, 'isRetryable') === true;
  const thrown = error instanceof Error ? error : new Error(wordsOf(error));
  return toModelError(thrown, isNetwork ? { ...facts, progress: 'answering' } : facts);
}

function statusOf(error: unknown): number | undefined {
  const status = thrownField(error, 'statusCode') ?? thrownField(error, 'status');
  if (typeof status === 'number' && status >= 100 && status < 600) return status;
  if (typeof error !== 'object' || error === null) return undefined;
  const inner = thrownField(error, 'error');
  for (const each of [error, isRecord(inner) ? inner : {}, thrownField(error, 'data')]) {
    for (const field of ['code', 'type']) {
      const told = thrownField(each, field);
      if (typeof told === 'string' && Object.hasOwn(STREAMED, told)) return STREAMED[told];
    }
  }
  return undefined;
}

/** Waiting doesn't fill an account: without this the turn would wait for a limit that never ends. */
function isUsedUp(error: unknown): boolean {
  const inner = thrownField(error, 'error');
  const told = [error, isRecord(inner) ? inner : {}].flatMap((each) =>
    ['code', 'type', 'responseBody'].map((field) => thrownField(each, field)),
  );
  return told.some((each) => typeof each === 'string' && each.includes('insufficient_quota'));
}

function headersOf(given: unknown): Headers {
  const headers = new Headers();
  if (!isRecord(given)) return headers;
  for (const name of ['retry-after', 'retry-after-ms', 'x-should-retry', 'date']) {
    const value = given[name];
    if (typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
  }
  return headers;
}

/** Whole: who removes secrets cuts it afterwards, since half a secret is not found. */
function wordsOf(error: unknown): string {
  const inner = thrownField(error, 'error');
  const message =
    thrownField(error, 'message') ??
    thrownField(inner, 'message') ??
    (typeof error === 'string' ? error : '');
  const said = typeof message === 'string' ? message : '';
  const given = thrownField(error, 'responseBody');
  if (typeof given !== 'string' || given === '') return said;
  const body = given.slice(0, LONGEST_BODY);
  if (said === '') return body;
  return body.includes(said.slice(0, LONGEST_WORDS)) ? said : `${said}: ${body}`;
}

function adviceOf({ provider, keyVariable }: FailedAiSdkCall): NonNullable<FailedCall['advice']> {
  const where = keyVariable === undefined ? '' : ` (${keyVariable})`;
  return {
    authentication: `Check the key of ${provider}${where}, and that it may use this model.`,
    bad_request:
      'The same request would fail again: check what the message names among contents, tools, generateContentConfig and ' +
      'providerOptions.',
    not_found: `Check the name of the model at ${provider}.`,
  };
}
