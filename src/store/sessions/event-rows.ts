import type { EventKind, StoredEvent } from '../../contract/events.ts';
import type { Event } from '../../events/event.ts';
import { storableText } from '../engine/json-text.ts';
import { JsonDocument } from '../engine/sql-function.ts';
import type { DraftEvent } from './session-store.ts';

const TEMPORARY = 'temp:';

/**
 * An event as SQL functions take it. Its body lacks what the store gives and `temp:` state, its delta has that, and is null where
 * it is empty.
 */
export function eventArguments(event: DraftEvent, author: string) {
  const { id: _id, timestamp: _timestamp, ...draft } = event as Event;
  const delta = event.actions?.stateDelta ?? {};
  const keys = Object.keys(delta);
  const kept = keys.some((key) => key.startsWith(TEMPORARY))
    ? { ...draft, actions: { ...event.actions, stateDelta: withoutTemporary(delta) } }
    : draft;
  return {
    author: storableText(typeof event.author === 'string' ? event.author : author),
    branch: typeof event.branch === 'string' ? storableText(event.branch) : null,
    body: JsonDocument.of(kept),
    delta: keys.length === 0 ? null : JsonDocument.of(delta),
  };
}

function withoutTemporary(delta: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith(TEMPORARY)));
}

/** A row of `holdfast.events_of`. */
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

type Values = Record<string, unknown>;

type Entries = [key: string, value: unknown][];

/** State as the store's statements return it: what each scope holds, keys with their prefixes. */
export type StateParts = [session: Values, app: Entries, user: Entries, temporary: Values | null];

export function stateOf([session, app, user, temporary]: StateParts): Values {
  const shared = app.length + user.length === 0 ? {} : Object.fromEntries([...app, ...user]);
  return { ...session, ...shared, ...temporary };
}
