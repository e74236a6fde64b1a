import type { StoredEvent } from '../store/sessions/stored-event.ts';
import { visibleEvents } from './visible-events.ts';

/** Ids of a message's responses that answer no call before it; `''` for a response without an id. */
export function unmatchedResponses(
  events: readonly StoredEvent[],
  message: StoredEvent | undefined,
): readonly string[] {
  const parts = message?.event.content?.parts ?? [];
  // A client may write anything there: a value that is no text answers nothing.
  const answered = parts.flatMap(({ functionResponse }) =>
    functionResponse === undefined
      ? []
      : [typeof functionResponse?.id === 'string' ? functionResponse.id : ''],
  );
  if (message === undefined || answered.length === 0) return Object.freeze([]);
  const called = new Set<string>();
  for (const { seq, event } of visibleEvents(events)) {
    if (seq >= message.seq) break;
    for (const { functionCall } of event.content?.parts ?? [])
      if (functionCall?.id) called.add(functionCall.id);
  }
  return Object.freeze(answered.filter((id) => !called.has(id)));
}
