/**
 * The events of a transcript that agents see, in order. A rewind, an event with `hidesAfter`, takes the transcript back:
 * visible are the events that were visible at the seq `hidesAfter`, and later ones. So a rewind that a later
 * one takes back hides nothing any more. Linear in the number of events. Semantics: the contents of adk-python after `Runner.rewind_async`.
 *
 * @param events in seq order; a part of a transcript is taken as what there is.
 * @example visibleEvents([{ seq: 1 }, { seq: 2 }, { seq: 3, hidesAfter: 1 }, { seq: 4 }]); // seq 1 and 4
 */
export function visibleEvents<E extends { seq: number; hidesAfter?: number }>(events: readonly E[]): E[] {
  const visible: E[] = [];
  let reach = Number.POSITIVE_INFINITY;
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index] as E;
    if (event.seq > reach) continue;
    if (event.hidesAfter === undefined) visible.push(event);
    else reach = event.hidesAfter;
  }
  return visible.reverse();
}
