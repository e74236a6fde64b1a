import { type Event, getFunctionCalls, getFunctionResponses } from './event.ts';

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
