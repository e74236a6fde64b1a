import { HoldfastError } from '../contract/error.ts';

/** The google.rpc status names that the Gemini API puts beside an HTTP status. */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export type GeminiErrorBody = Readonly<{
  error: Readonly<{ code: number; message: string; status: string; details?: readonly object[] }>;
}>;

/** The JSON body of a Gemini API error: `{ error: { code, message, status, details? } }`. */
export function geminiErrorBody(
  code: number,
  message: string,
  details: readonly object[] = [],
  status = STATUS_NAMES[code] ?? 'UNKNOWN',
): GeminiErrorBody {
  return { error: { code, message, status, ...(details.length > 0 && { details }) } };
}

/** A request that the mock server answers with an error of its own, because the real API would. */
export class GeminiRefusal extends Error {
  readonly code: number;
  readonly body: GeminiErrorBody;

  constructor(code: number, message: string, options: RefusalOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'GeminiRefusal';
    this.code = code;
    this.body = geminiErrorBody(code, message, options.details, options.status);
  }
}

type RefusalOptions = { details?: readonly object[]; status?: string; cause?: unknown };

export function invalidArgument(message: string, details?: readonly object[]): GeminiRefusal {
  return new GeminiRefusal(400, message, { details });
}

export type FieldViolation = Readonly<{ field: string; description: string }>;

/** Throws what the API answers to a payload that does not fit its message types, if there is any violation. */
export function refuseViolations(violations: readonly FieldViolation[]): void {
  if (violations.length === 0) return;
  throw invalidArgument(violations.map((violation) => violation.description).join('\n'), [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
  ]);
}

/** Throws the API's list of failed validations, one `* GenerateContentRequest.…` line each, if there is any. */
export function refuseInvalidFields(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw invalidArgument(problems.map((problem) => `* GenerateContentRequest.${problem}\n`).join(''));
}

/**
 * The mock server was used wrongly, or a wait ended without a match.
 *
 * Codes: `MOCK_GEMINI_BAD_OPTION`, `MOCK_GEMINI_BAD_REPLY`, `MOCK_GEMINI_WAIT_TIMEOUT`,
 * `MOCK_GEMINI_CLOSED`.
 */
export class MockGeminiError extends HoldfastError {
  declare readonly code: MockGeminiErrorCode;
}

export type MockGeminiErrorCode =
  | 'MOCK_GEMINI_BAD_OPTION'
  | 'MOCK_GEMINI_BAD_REPLY'
  | 'MOCK_GEMINI_WAIT_TIMEOUT'
  | 'MOCK_GEMINI_CLOSED';
