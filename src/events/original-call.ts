import type { FunctionCall } from './content.ts';

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
