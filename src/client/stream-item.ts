import type { StoredEvent, StoreNotice } from '../store/store.ts';

type WithoutSession<Notice> = Notice extends StoreNotice ? Omit<Notice, 'session'> : never;

/**
 * What a follower sees of a session: its events, and between them what is never stored: text of the answer that is being
 * written, text that no longer counts, calls that begin and settle. Events come in order, without gaps or repeats; the rest
 * comes where it is heard of. No text of a step comes after the step's event.
 */
export type StreamItem = ({ type: 'event' } & StoredEvent) | LiveItem;

export type LiveItem = WithoutSession<Exclude<StoreNotice, { type: 'appended' }>>;
