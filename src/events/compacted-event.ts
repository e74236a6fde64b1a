import { type CreateEventParams, createEvent, type Event } from './event.ts';

/**
 * An event that stands for earlier ones in the contents for a model. The earlier events stay in the session. Semantics: `CompactedEvent`
 * of `@google/adk` 2.0.0; `endEventId` is ours.
 */
export interface CompactedEvent extends Event {
  isCompacted: true;
  /** Time of the first event that it stands for, milliseconds since the epoch. */
  startTime: number;
  /** Time of the last one. */
  endTime: number;
  /** Id of the last one: several events may have one time. */
  endEventId?: string;
  /** What the model reads in their place. */
  compactedContent: string;
  /** It is carried on by the next one. */
  isScratchpad?: boolean;
}

/** Whether the event stands for earlier ones. */
export function isCompactedEvent(event: object): event is CompactedEvent {
  return 'isCompacted' in event && event.isCompacted === true;
}

/** Whether the event is a compacted one that the next compaction carries on. */
export function isScratchpadEvent(event: object): event is CompactedEvent {
  return isCompactedEvent(event) && event.isScratchpad === true;
}

export type CompactedEventParams = CreateEventParams &
  Pick<CompactedEvent, 'startTime' | 'endTime' | 'compactedContent'> &
  Partial<Pick<CompactedEvent, 'endEventId' | 'isScratchpad'>>;

/** Makes a compacted event. Semantics: `createCompactedEvent` of `@google/adk` 2.0.0. */
export function createCompactedEvent(params: CompactedEventParams): CompactedEvent {
  const { startTime, endTime, compactedContent } = params;
  return { ...params, ...createEvent(params), isCompacted: true, startTime, endTime, compactedContent };
}

/** What {@link activeEvents} reads of an event. */
interface TimedEvent {
  id?: string;
  timestamp?: number;
}

/**
 * The events that a model sees: the latest compacted one, and those after what it stands for. All events where there is none.
 * Semantics: `getActiveEvents` of `@google/adk` 2.0.0, which goes by times.
 *
 * @param eventOf the event in an element
 */
export function activeEvents<E>(events: readonly E[], eventOf: (element: E) => TimedEvent): readonly E[] {
  const latest = events.findLast((element) => isCompactedEvent(eventOf(element)));
  if (latest === undefined) return events;
  const { endTime, endEventId } = eventOf(latest) as CompactedEvent;
  const last =
    endEventId === undefined ? -1 : events.findIndex((element) => eventOf(element).id === endEventId);
  const rest = events.filter((element, index) => {
    const event = eventOf(element);
    if (isCompactedEvent(event)) return false;
    return last >= 0 ? index > last : (event.timestamp ?? 0) > endTime;
  });
  return [latest, ...rest];
}
