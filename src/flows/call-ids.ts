import type { Content, Part } from '../events/content.ts';
import { callKeyOf, OWN_CALL_ID_PREFIX, ownCallId } from '../protocol/identity.ts';

/** The ids that calls of a transcript have. */
export type TakenCallIds = Pick<ReadonlySet<string>, 'has'>;

/**
 * Gives every function call of a response an id that no other call of the transcript has. The model's own id stays
 * where it is new; providers send none, or the same one again within a response and across responses.
 */
export function nameCalls(
  parts: readonly Part[],
  runKey: string,
  step: number,
  taken: TakenCallIds,
): { parts: Part[]; callIds: string[] } {
  const given = new Set<string>();
  const callIds: string[] = [];
  const named = parts.map((part) => {
    if (part.functionCall === undefined) return part;
    const own = part.functionCall.id;
    const id =
      own !== undefined && isUsable(own) && !given.has(own) && !taken.has(own)
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

/** The event of a transcript that used a call id first. Grows with the transcript and holds rewound events, too. */
export class CallIds {
  readonly #firstUse = new Map<string, number>();

  note(seq: number, content: Content | undefined): void {
    for (const { functionCall } of content?.parts ?? []) {
      const id = functionCall?.id;
      if (id && !this.#firstUse.has(id)) this.#firstUse.set(id, seq);
    }
  }

  /** Whether an event before `seq` has used the id. */
  isTakenBefore(seq: number, id: string): boolean {
    return (this.#firstUse.get(id) ?? seq) < seq;
  }
}

/**
 * Removes the ids of calls that the model must not see: those that {@link nameCalls} made up, since it didn't say them, and
 * those that an earlier call of the request has, which runs that write at the same time can't know of each other. Content
 * that has none is returned as it is.
 */
export function withoutOwnCallIds(
  calls: Content,
  isRepeated: (id: string) => boolean = () => false,
): Content {
  const said = new Set<string>();
  return withParts(calls, (part) => {
    const id = part.functionCall?.id;
    if (part.functionCall === undefined || id === undefined) return part;
    if (id.startsWith(OWN_CALL_ID_PREFIX) || isRepeated(id) || said.has(id)) {
      const { id: _hidden, ...functionCall } = part.functionCall;
      return { ...part, functionCall };
    }
    said.add(id);
    return part;
  });
}

/** Content with other parts, or itself where none is another. */
export function withParts(content: Content, change: (part: Part) => Part): Content {
  const before = content.parts ?? [];
  const parts = before.map(change);
  return parts.some((part, index) => part !== before[index]) ? { ...content, parts } : content;
}
