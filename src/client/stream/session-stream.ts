import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { type FollowOptions, followEvents, type SessionReading } from './follow-events.ts';
import { LiveItems } from './live-items.ts';
import type { FollowedEvent, StreamItem } from './stream-item.ts';
import { type StreamOptions, streamItems } from './stream-items.ts';
import type { StreamPlace } from './stream-place.ts';
import { treeItems } from './stream-tree.ts';

/** A session's stream: whole, or of one turn until its end. */
export interface SessionStream
  extends Pick<StreamOptions, 'until' | 'of' | 'isUnderWay'>,
    Pick<FollowOptions, 'signal' | 'children'> {
  after: StreamPlace;
}

/**
 * Events of a session, and of the agents that its calls run, and what is told meanwhile.
 *
 * @param live what was heard of the session so far; it is closed at the end.
 * @throws FollowerTooSlow
 */
export function streamSession(
  store: Store,
  names: SessionNames,
  { after, signal, until, of, isUnderWay = false, children = true }: SessionStream,
  live?: LiveItems,
): AsyncGenerator<StreamItem, void, undefined> {
  const own = { until, of, isUnderWay };
  if (!children) return streamItems(store, names, { after: after.seq, signal, ...own }, live);
  return treeItems(store, names, {
    after,
    signal,
    openRoot: (reading) => streamItems(store, names, { ...reading, ...own }, live),
    openChild({ session, runKey }, reading) {
      const childNames = { ...names, sessionId: runKey };
      const heard = new LiveItems(store, childNames);
      heard.follow(session);
      return streamItems(store, childNames, reading, heard);
    },
  });
}

/** Events of a session, and of the agents that its calls run. */
export async function* followSession(
  store: Store,
  names: SessionNames,
  { after, signal, until, of, children = true }: SessionStream,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const own = (reading: SessionReading) => eventItems(store, names, { ...reading, until }, of);
  const items = children
    ? treeItems(store, names, {
        after,
        signal,
        openRoot: own,
        openChild: ({ runKey }, reading) => eventItems(store, { ...names, sessionId: runKey }, reading),
      })
    : own({ after: after.seq, signal });
  for await (const item of items) {
    if (item.type !== 'event') continue;
    const { type: _type, ...stored } = item;
    yield stored;
  }
}

async function* eventItems(
  store: Store,
  names: SessionNames,
  reading: SessionReading,
  of?: string,
): AsyncGenerator<StreamItem, void, undefined> {
  for await (const stored of followEvents(store, names, reading)) {
    if (of === undefined || stored.event.invocationId === of) yield { type: 'event', ...stored };
  }
}
