import type { Content, Part } from '../events/content.ts';
import { callKeyOf, OWN_CALL_ID_PREFIX, ownCallId } from '../protocol/identity.ts';

/**
 * Gives every function call of a response an id that no other call of the transcript has. The model's own id stays
 * where it is new; providers send none, or the same one again within a response and across responses.
 */
export function nameCalls(
  parts: readonly Part[],
  runKey: string,
  step: number,
  taken: ReadonlySet<string>,
): { parts: Part[]; callIds: string[] } {
  const given = new Set(taken);
  const callIds: string[] = [];
  const named = parts.map((part) => {
    if (part.functionCall === undefined) return part;
    const own = part.functionCall.id;
    const id =
      own !== undefined && isUsable(own) && !given.has(own)
        ? own
        : ownCallId(callKeyOf(runKey, step, callIds.length));
    given.add(id);
    callIds.push(id);
    return { ...part, functionCall: { ...part.functionCall, id } };
  });
  return { parts: named, callIds };
}

/** An id goes into the history with its call: a model that writes a novel there gets an id of ours. */
const LONGEST_ID = 64;

function isUsable(id: string): boolean {
  return id !== '' && id.length <= LONGEST_ID && id.isWellFormed() && !id.startsWith(OWN_CALL_ID_PREFIX);
}

/** Removes the ids that {@link nameCalls} made up: the model must not see what it didn't say. */
export function withoutOwnCallIds(content: Content): Content {
  return { ...content, parts: (content.parts ?? []).map(withoutOwnCallId) };
}

function withoutOwnCallId(part: Part): Part {
  if (part.functionCall?.id?.startsWith(OWN_CALL_ID_PREFIX)) {
    const { id: _own, ...functionCall } = part.functionCall;
    return { ...part, functionCall };
  }
  if (part.functionResponse?.id?.startsWith(OWN_CALL_ID_PREFIX)) {
    const { id: _own, ...functionResponse } = part.functionResponse;
    return { ...part, functionResponse };
  }
  return part;
}
