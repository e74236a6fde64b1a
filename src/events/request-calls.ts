import type { FunctionCall } from './content.ts';
import { type Event, getFunctionCalls, getFunctionResponses } from './event.ts';

/** Names of the calls by which a turn asks a person, and that a client answers by function responses; those of `@google/adk`. */
export const REQUEST_CONFIRMATION_FUNCTION_CALL_NAME = 'adk_request_confirmation';
export const REQUEST_CREDENTIAL_FUNCTION_CALL_NAME = 'adk_request_credential';
export const REQUEST_INPUT_FUNCTION_CALL_NAME = 'adk_request_input';

const KEY = 'originalFunctionCall';

/**
 * The call that a confirmation is about, out of the `adk_request_confirmation` call that asks for it. Semantics and messages:
 * `OriginalCallFrom` of adk-go.
 *
 * @param functionCall as an event has it, or as it came over the wire.
 * @throws TypeError where it has no original call.
 * @example
 * const original = originalCallFrom(request);
 * console.log(`${original.name} wants to run with`, original.args);
 */
export function originalCallFrom(functionCall: FunctionCall | null | undefined): FunctionCall {
  const args = functionCall?.args;
  if (args === undefined || args === null) {
    throw new TypeError('functionCall or its arguments cannot be nil');
  }
  const place = `call ${functionCall?.id === undefined ? 'without an ID' : `with ID ${functionCall.id}`}`;
  if (!Object.hasOwn(args, KEY)) throw new TypeError(`required argument "${KEY}" is missing from ${place}`);
  const original: unknown = args[KEY];
  if (typeof original !== 'object' || original === null || Array.isArray(original)) {
    throw new TypeError(
      `argument "${KEY}" has invalid type: expected JSON object or FunctionCall, got ${kindOf(original)}`,
    );
  }
  return callOf(original as Record<string, unknown>, place);
}

/** A new object, with the fields of a call only. */
function callOf(raw: Record<string, unknown>, place: string): FunctionCall {
  const { id, name, args } = raw;
  const problem =
    (!isTextOrNone(id) && 'id is no string') ||
    (!isTextOrNone(name) && 'name is no string') ||
    (!isObjectOrNone(args) && 'args is no object');
  if (problem) throw new TypeError(`failed to decode "${KEY}" structure of ${place}: ${problem}`);
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof name === 'string' ? { name } : {}),
    ...(args === undefined || args === null ? {} : { args: args as Record<string, unknown> }),
  };
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

function isObjectOrNone(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * The latest event with a call of this id. Semantics: `findEventByFunctionCallId` of `@google/adk` 2.0.0.
 *
 * @param end only events before this index are looked at. Defaults to all.
 */
export function findEventByFunctionCallId(
  events: readonly Event[],
  functionCallId: string,
  end: number = events.length,
): Event | undefined {
  return events
    .slice(0, Math.max(0, end))
    .findLast((event) => getFunctionCalls(event).some(({ id }) => id === functionCallId));
}

/** The event with the call that the last event's first response answers. Semantics: as in `@google/adk` 2.0.0. */
export function findMatchingFunctionCall(events: readonly Event[]): Event | undefined {
  const last = events.at(-1);
  const id = last && getFunctionResponses(last)[0]?.id;
  return id ? findEventByFunctionCallId(events, id, events.length - 1) : undefined;
}

/** As {@link findMatchingFunctionCall}, null where there is none. Semantics: as in `@google/adk` 2.0.0. */
export function findEventByLastFunctionResponseId(events: readonly Event[]): Event | null {
  return findMatchingFunctionCall(events) ?? null;
}
