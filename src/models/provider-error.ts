import { isRecord } from '../schema/kind-of.ts';

/** The error object of a Google API: `google.rpc.Status` in JSON. */
export interface ProviderError {
  code?: number;
  message?: string;
  /** E.g. `RESOURCE_EXHAUSTED`. */
  status?: string;
  details?: Array<Record<string, unknown>>;
}

/**
 * Reads the provider's error out of the text of an `ApiError` of `@google/genai`: the JSON body, which may stand
 * behind a prefix (errors inside a stream), in a list, or as text within another body (no JSON content type).
 *
 * @returns undefined where the text isn't such an error.
 */
export function parseProviderError(text: string): ProviderError | undefined {
  const error = errorOf(parsed(text.slice(Math.max(0, text.search(/[[{]/)))));
  if (!error) return undefined;
  const inner = typeof error.message === 'string' ? parseProviderError(error.message) : undefined;
  return inner ?? error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Bodies of gateways are often HTML or plain text: what they say is then the text itself.
    return undefined;
  }
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
