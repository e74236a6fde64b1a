import { type Event, getFunctionCalls, getFunctionResponses } from './event.ts';
import type { AuthConfig } from './event-actions.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from './request-calls.ts';

/** Kinds of questions that a turn waits for. Values: `UserInputKind` of `@google/adk` 2.0.0. */
export type UserInputKind = 'input' | 'credential' | 'confirmation';

/** A request to a person, out of the call of an event. Fields: `UserInputRequest` of `@google/adk` 2.0.0. */
export interface UserInputRequest {
  kind: UserInputKind;
  /** Answer with a `functionResponse` of this id; here it is the request id, too. */
  interruptId: string;
  /** The name to answer with. */
  functionCallName: string;
  /** The agent that asks. */
  author?: string;
  /** The question, or the hint of a confirmation. */
  message?: string;
  payload?: unknown;
  /** JSON Schema of the answer. */
  responseSchema?: unknown;
  /** For a confirmation: the tool that waits. */
  toolName?: string;
  /** For a credential: its scheme and its name. */
  authConfig?: AuthConfig;
}

/**
 * The questions of an event to people, in the order of its parts, also those that were answered. Semantics: the function of this
 * name of `@google/adk` 2.0.0.
 *
 * @example
 * for (const { message, interruptId } of getUserInputRequests(event)) console.log(`${message} (answer ${interruptId})`);
 */
export function getUserInputRequests(event: Event): UserInputRequest[] {
  return getFunctionCalls(event).flatMap(({ id, name, args: given }) => {
    const read = readers.get(name);
    if (name === undefined || read === undefined) return [];
    const fields = fieldsOf(given);
    const args = name === REQUEST_CREDENTIAL_FUNCTION_CALL_NAME ? (inCamelCase(fields) as Fields) : fields;
    const interruptId = id ?? stringOf(args.interruptId) ?? stringOf(args.functionCallId);
    if (!interruptId) return [];
    const { author } = event;
    const request = { interruptId, functionCallName: name, author, ...read(args) };
    return [withoutUndefined(request)];
  });
}

/** Whether an event asks people for something. */
export function requiresUserInput(event: Event): boolean {
  return getUserInputRequests(event).length > 0;
}

/**
 * The open questions of a session's events, in order. Semantics: the function of this name of `@google/adk` 2.0.0,
 * for which an answer is a `functionResponse` of the request's id. A decision by signal or from the command line stands in no event:
 * ask `handle.status()` or the store for what waits now.
 */
export function getPendingUserInputRequests(events: readonly Event[]): UserInputRequest[] {
  const answered = new Set(events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  const pending = new Map<string, UserInputRequest>();
  for (const request of events.flatMap(getUserInputRequests)) {
    const { interruptId } = request;
    if (!answered.has(interruptId) && !pending.has(interruptId)) pending.set(interruptId, request);
  }
  return [...pending.values()];
}

type Fields = Record<string, unknown>;
type Read = (args: Fields) => Pick<UserInputRequest, 'kind'> & Partial<UserInputRequest>;

const readers: ReadonlyMap<string | undefined, Read> = new Map<string, Read>([
  [
    REQUEST_INPUT_FUNCTION_CALL_NAME,
    (args) => ({
      kind: 'input',
      message: stringOf(args.message),
      payload: args.payload ?? undefined,
      // Others write it in camel case.
      responseSchema: args.response_schema ?? args.responseSchema ?? undefined,
    }),
  ],
  [
    REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
    (args) => ({
      kind: 'credential',
      message: stringOf(args.message),
      authConfig: (args.authConfig as AuthConfig | undefined | null) ?? undefined,
    }),
  ],
  [
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    ({ toolConfirmation, originalFunctionCall }) => {
      const { hint, payload } = fieldsOf(toolConfirmation);
      return {
        kind: 'confirmation',
        message: stringOf(hint)?.trim() ? stringOf(hint) : undefined,
        payload: payload ?? undefined,
        toolName: stringOf(fieldsOf(originalFunctionCall).name),
      };
    },
  ],
]);

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function withoutUndefined(request: UserInputRequest): UserInputRequest {
  const fields = Object.entries(request).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as unknown as UserInputRequest;
}

/** Other ADKs write `auth_config`. */
function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      inCamelCase(field),
    ]),
  );
}
