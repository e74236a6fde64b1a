import type { EventKind } from '../../contract/events.ts';
import type { Event } from '../../events/event.ts';

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
