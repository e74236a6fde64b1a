import { isRecord } from '../schema/kind-of.ts';
import type { ToolEdit } from '../tools/turn-tools.ts';

/** What Holdfast keeps for itself is under such keys of an invocation's state. User code doesn't see them. */
const OWN = 'temp:_holdfast_';

/** `temp:` key of the state under which a turn's edits of its tools are kept. */
export const TOOL_EDITS_KEY = `${OWN}tools`;

/** `temp:` key of the state that says that user code has ended its invocation. */
export const INVOCATION_END_KEY = `${OWN}end`;

/** Whose state it is: agents that share a session share its invocation's `temp:` state, but not what Holdfast keeps there. */
export interface RunOfInvocation {
  runKey: string;
  invocationId: string;
}

/** What Holdfast itself keeps in an invocation's state for one of its runs. */
export interface OwnState {
  edits: readonly ToolEdit[];
  /** No model is asked any more, and its agent's end isn't heard of. */
  ends: boolean;
  /** What is left is user code's to see. */
  state: Record<string, unknown>;
}

/** A key of the run's own: the plain one for the run that the invocation began with. */
export function ownKey(key: string, { runKey, invocationId }: RunOfInvocation): string {
  return runKey === invocationId ? key : `${key}:${runKey}`;
}

/** Takes it out of a state that the store has returned. */
export function takeOwnState(given: Record<string, unknown>, run: RunOfInvocation): OwnState {
  const keys = Object.keys(given);
  if (!keys.some((key) => key.startsWith(OWN))) {
    return { edits: [], ends: false, state: given };
  }
  const edits = given[ownKey(TOOL_EDITS_KEY, run)];
  return {
    edits: Array.isArray(edits) ? edits.filter(isToolEdit) : [],
    ends: given[ownKey(INVOCATION_END_KEY, run)] === true,
    state: Object.fromEntries(Object.entries(given).filter(([key]) => !key.startsWith(OWN))),
  };
}

function isToolEdit(value: unknown): value is ToolEdit {
  if (!isRecord(value)) return false;
  return typeof value.remove === 'string' || (typeof value.add === 'string' && isRecord(value.args));
}
