import type { StoredEvent, StoreNotice } from '../store/store.ts';

type WithoutSession<Notice> = Notice extends StoreNotice ? Omit<Notice, 'session'> : never;

/**
 * What a follower sees of a session: its events, and between them what is never stored: text of the answer that is being
 * written, calls that begin and settle, chunks of what a streaming tool yields, that text or chunks no longer count, and how jobs
 * of long-running calls get on. Events come in order, without gaps or repeats; the rest comes where it is heard of. No text of a step comes after the
 * step's event, no chunk of a call after the call has settled, and none of an attempt after a later attempt's.
 */
export type StreamItem = ({ type: 'event' } & StoredEvent) | LiveItem;

export type LiveItem = WithoutSession<Exclude<StoreNotice, { type: 'appended' }>>;
