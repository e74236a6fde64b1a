import type { StoredEvent } from '../../contract/events.ts';
import type { StoreNotice } from '../../store/live/live-feed.ts';

type WithoutSession<Notice> = Notice extends StoreNotice ? Omit<Notice, 'session'> & Marked : never;

/** Origin of an item of an agent that a call runs; events of the followed session have none. */
export interface ChildMark {
  /** Names of the agents from the root to this one. */
  path: readonly string[];
  /** Of the agent's own session. */
  sessionId: string;
  /** Place of the last event of that session that was given, this one included. */
  seq: number;
}

interface Marked {
  /** Of the agent of a call, in a session of its own; its `seq` is that session's. */
  holdfast?: ChildMark;
}

/** An event as followers get it. */
export interface FollowedEvent extends StoredEvent, Marked {
  /** Place to go on `after`, when the event's own `seq` isn't enough: agents of calls are under way. */
  place?: string;
}

/**
 * A session as a follower sees it: its events, and between them what is never stored: text of the answer that is being
 * written, calls that begin and settle, chunks of what a streaming tool yields, that text or chunks no longer count, and how jobs
 * of long-running calls get on. Events come in order, without gaps or repeats; the rest comes where it is heard of. No text of a step comes after the
 * step's event, no chunk of a call after the call has settled, and none of an attempt after a later attempt's.
 *
 * The same of the agents that its calls run, marked by `holdfast`: between the event that asks for the call, and the one that has
 * its response.
 */
export type StreamItem = ({ type: 'event' } & FollowedEvent) | LiveItem;

export type LiveItem = WithoutSession<Exclude<StoreNotice, { type: 'appended' | 'child' }>>;
