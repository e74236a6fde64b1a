import type { Event } from '../events/event.ts';
import { jsonText, storableText } from './json-text.ts';
import type { DraftEvent, EventKind, StoredEvent } from './store.ts';

const TEMPORARY = 'temp:';

/** An event as its row holds it. */
export interface EventColumns {
  author: string;
  branch: string | null;
  /** JSON of the event without what the store gives, and without `temp:` state. */
  body: string;
  /** JSON of the state delta, `temp:` included; null where it is empty. */
  delta: string | null;
}

export function eventColumns(event: DraftEvent, author: string): EventColumns {
  const { id: _id, timestamp: _timestamp, ...draft } = event as Event;
  const delta = event.actions?.stateDelta ?? {};
  const keys = Object.keys(delta);
  const kept = keys.some((key) => key.startsWith(TEMPORARY))
    ? { ...draft, actions: { ...event.actions, stateDelta: withoutTemporary(delta) } }
    : draft;
  return {
    author: storableText(typeof event.author === 'string' ? event.author : author),
    branch: typeof event.branch === 'string' ? storableText(event.branch) : null,
    body: jsonText(kept),
    delta: keys.length === 0 ? null : jsonText(delta),
  };
}

function withoutTemporary(delta: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith(TEMPORARY)));
}

/** A row of `holdfast.events_of_1`. */
export type EventRow = [
  seq: number,
  kind: EventKind,
  runKey: string,
  step: number,
  id: string,
  timestamp: number,
  body: DraftEvent,
  hidesAfter?: number | null,
];

export function storedEvent([
  seq,
  kind,
  runKey,
  step,
  id,
  timestamp,
  body,
  hidesAfter,
]: EventRow): StoredEvent {
  const stored = { seq, kind, runKey, step, event: { id, timestamp, ...body } };
  return typeof hidesAfter === 'number' ? { ...stored, hidesAfter } : stored;
}
