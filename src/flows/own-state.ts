import { isRecord } from '../schema/kind-of.ts';
import type { ToolEdit } from '../tools/turn-tools.ts';

/** `temp:` key of the state under which an invocation's edits of its tools are kept. User code doesn't see it. */
export const TOOL_EDITS_KEY = 'temp:_holdfast_tools';

/** `temp:` key of the state that says that user code has ended its invocation. User code doesn't see it. */
export const INVOCATION_END_KEY = 'temp:_holdfast_end';

/** What Holdfast itself keeps in an invocation's state. */
export interface OwnState {
  edits: readonly ToolEdit[];
  /** No model is asked any more, and its agent's end isn't heard of. */
  ends: boolean;
  /** What is left is user code's to see. */
  state: Record<string, unknown>;
}

/** Takes it out of a state that the store has returned. */
export function takeOwnState(given: Record<string, unknown>): OwnState {
  if (!Object.hasOwn(given, TOOL_EDITS_KEY) && !Object.hasOwn(given, INVOCATION_END_KEY)) {
    return { edits: [], ends: false, state: given };
  }
  const { [TOOL_EDITS_KEY]: edits, [INVOCATION_END_KEY]: ends, ...state } = given;
  return { edits: Array.isArray(edits) ? edits.filter(isToolEdit) : [], ends: ends === true, state };
}

function isToolEdit(value: unknown): value is ToolEdit {
  if (!isRecord(value)) return false;
  return typeof value.remove === 'string' || (typeof value.add === 'string' && isRecord(value.args));
}
