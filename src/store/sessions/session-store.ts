import type { AuditRow } from '../../contract/audit.ts';
import type { StoredEvent } from '../../contract/events.ts';
import type {
  CreateSession,
  ForkSession,
  GetSession,
  ListedSessions,
  ListSessions,
  RetriedCall,
  RewindSession,
  Session,
} from '../../contract/sessions.ts';
import type { Event } from '../../events/event.ts';
import type { SessionPlace } from '../../protocol/retention.ts';
import type { JobOfMessage } from '../jobs/job-store.ts';
import type { SessionNames } from './session-names.ts';

export type { SessionPlace } from '../../protocol/retention.ts';

/** An event without what the store gives. */
export type DraftEvent = Omit<Event, 'id' | 'timestamp'>;

export interface DeleteSession extends SessionNames {
  /** Deletes the sessions that were forked from it, and from those, too. Defaults to false. */
  withForks?: boolean;
  /**
   * Milliseconds since the epoch: nothing is deleted where the session, or a fork that is deleted with it, was written to at
   * this time or later. It is looked at with the session locked, so that one that came into use again stays.
   */
  idleSince?: number;
}

/** A job that goes on without a turn, in a workflow of its own. */
export interface DetachedJob {
  jobId: string;
  callKey: string;
}

export interface DeletedSession extends SessionNames {
  /** Jobs whose outcome the session was not told yet; absent if there was none. */
  jobs?: DetachedJob[];
}

export interface IdleSession extends SessionNames, SessionPlace {}

export interface AppendEvent extends SessionNames {
  /** Appending again under this key changes nothing, and gives the first event. */
  key: string;
  /** Without calls and responses, which belong to turns. `temp:` keys of its state delta are left out. */
  event: DraftEvent;
}

export interface RetryTurn extends RetriedCall {
  /**
   * Ends the session's turns of which the store knows no end, as after a `terminate` in Temporal: only for callers who know
   * that none runs. Defaults to false: then the retry is refused.
   */
  interrupts?: boolean;
}

/** A retry that waits for its workflow, which the caller starts. */
export interface PreparedRetry {
  /** The invocation that is retried: the first of its generations. */
  retryOf: string;
  generation: number;
  invocationId: string;
  messageId: string;
  agent: string | undefined;
  /** Jobs of calls that are made anew: they have ended by this, and the workflows that wait for them are to be told. */
  jobs?: JobOfMessage[];
}

export interface ReadEvents extends SessionNames {
  /** Events after this seq. Defaults to 0: from the start. */
  after?: number;
  /** Defaults to 1,000. */
  limit?: number;
}

/**
 * Sessions as people and programs handle them. They don't look whether a turn runs: only Temporal knows, so
 * `HoldfastClient` asks it first.
 */
export interface SessionStore {
  /** @throws SessionExists, Unstorable */
  create(create: CreateSession): Promise<Session>;
  get(get: GetSession): Promise<Session | undefined>;
  find(
    names: SessionNames,
  ): Promise<{ session: string; seq: number; lastAgent: string | undefined } | undefined>;
  list(list: ListSessions): Promise<ListedSessions>;
  /** In seq order. Empty where there is no such session. */
  readEvents(read: ReadEvents): Promise<StoredEvent[]>;
  /**
   * Deletes events, ledger, inbox, requests, jobs and state of the session; `app:` and `user:` state stays, and so do credentials.
   * Keeps audit rows without content. Returns the names of what was deleted, forks included; empty where there was no such session, or one that was
   * written to after `idleSince`. The caller, which has a Temporal client, ends the workflows of the jobs that went on in them.
   *
   * @throws SessionHasForks
   */
  delete(remove: DeleteSession): Promise<DeletedSession[]>;
  /** The sessions that were forked from one, and from those: parents before their forks. */
  forksOf(names: SessionNames): Promise<SessionNames[]>;
  /**
   * A session that begins with the events of another up to a seq, and its state at that point. Nothing is copied.
   *
   * @throws SessionNotFound, SessionExists, NoSuchPlace
   */
  fork(fork: ForkSession): Promise<Session>;
  /**
   * Appends ADK's marker event (`actions.rewindBeforeInvocationId`), which also restores the session's state.
   *
   * @throws SessionNotFound, NoSuchPlace
   */
  rewind(rewind: RewindSession): Promise<StoredEvent>;
  /**
   * Appends an event of a program's own, and applies its state delta: a `message` where the user says something, else a
   * `callback`. The store gives its id and its time.
   *
   * @throws SessionNotFound, Unstorable
   */
  append(append: AppendEvent): Promise<StoredEvent>;
  /**
   * Hides what came after a step's model event and prepares an invocation that goes on from there: finished siblings of the call
   * keep their outcomes, the call gets a new key. So do siblings that the end of their turn cut off: they run anew under it, those
   * that had begun too, whatever their tools' `onUnknownOutcome` says, which is about the same key. Jobs of calls that run anew end
   * as cancelled. Preparing the same retry again before it ran returns the one prepared.
   *
   * @throws SessionNotFound, NoSuchPlace
   */
  prepareRetry(retry: RetryTurn): Promise<PreparedRetry>;
  /**
   * Sessions of an app that nothing was written to since a time, the last made first, so that forks come before what they
   * were forked from. Sessions with a fork that was written to since then are left out.
   *
   * @param before milliseconds since the epoch.
   * @param after goes on after this one, the last of the page before, whether it is still there or not.
   */
  idleSince(app: string, before: number, limit: number, after?: SessionPlace): Promise<IdleSession[]>;
  readAudit(session: string): Promise<AuditRow[]>;
}
