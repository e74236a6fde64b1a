import type { Part } from '../events/content.ts';

/** Calls that ask a person, and not a tool. Names: `framework_function_calls` of `@google/adk` 2.0.0. */
export const RESERVED_CALL_NAMES: ReadonlySet<string> = new Set([
  'adk_request_confirmation',
  'adk_request_credential',
  'adk_request_input',
]);

/** Whether the part asks a person, or is a person's answer. */
export function isReservedPart({ functionCall, functionResponse }: Part): boolean {
  const name = functionCall?.name ?? functionResponse?.name;
  return name !== undefined && RESERVED_CALL_NAMES.has(name);
}
