import type { Event } from '../../events/event.ts';

/**
 * What an event is in the transcript. `responses` answers the calls of the same run and step. `rewind` hides the events
 * between `hidesAfter` and itself. `callback` is said by user code for its agent: a callback's answer or state, what a
 * plugin or a processor adds. `request` asks people, by calls with reserved names.
 */
export type EventKind = 'message' | 'model' | 'responses' | 'error' | 'rewind' | 'callback' | 'request';

/** An event with its place in the session. */
export interface StoredEvent {
  /** From 1, gapless within a session. */
  seq: number;
  kind: EventKind;
  runKey: string;
  step: number;
  /** Of a `rewind`: events with a greater seq, up to this one, are no part of what agents see. */
  hidesAfter?: number;
  event: Event;
}

/** An event without what the store gives. */
export type DraftEvent = Omit<Event, 'id' | 'timestamp'>;
