import type { JobMode, JobProgress, JobStatus } from '../../contract/jobs.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** Something that was written, for followers: never more than a hint to read the store. */
type WriteNotice =
  | {
      type: 'appended';
      session: string;
      /** Of the last event. */
      seq: number;
      /** On a turn's first event. */
      names?: SessionNames;
    }
  /** The agent of a call has begun a session of its own; told to the followers of the root's. */
  | {
      type: 'child';
      session: string;
      child: string;
      runKey: string;
      callKey: string;
      path: readonly string[];
    }
  | { type: 'call started'; session: string; runKey: string; callKey: string; tool: string; attempt: number }
  | { type: 'call finished'; session: string; runKey: string; callKey: string; tool: string; failed: boolean }
  /** A job was begun, parked or detached, has got on, or has ended. */
  | {
      type: 'job';
      session: string;
      runKey: string;
      callKey: string;
      tool: string;
      jobId: string;
      status: JobStatus;
      mode: JobMode;
      progress?: JobProgress;
    };

/** Text of a model's answer as it comes; the whole answer is the event of its step. */
export interface PartialText {
  type: 'text';
  session: string;
  runKey: string;
  step: number;
  agent: string;
  /** Of the model step, from 1. */
  attempt: number;
  /** From 0, gapless within an attempt: where one is missing, text is missing. */
  index: number;
  text: string;
  /** The model's thoughts, not its answer. */
  thought?: true;
}

/** Text of this step's attempts before this one belongs to no answer. */
interface PartialTextDropped {
  type: 'text dropped';
  session: string;
  runKey: string;
  step: number;
  /** The first attempt whose text counts. */
  attempt: number;
}

/** A chunk of a streaming tool's result as it comes; the whole result is the call's response. */
export interface ToolChunk {
  type: 'tool chunk';
  session: string;
  runKey: string;
  callKey: string;
  tool: string;
  /** Of the call, from 1. */
  attempt: number;
  /** From 0, gapless within an attempt: where one is missing, a chunk is missing. */
  index: number;
  /** JSON: the tool's `content`; text of neighbouring chunks may come in one. */
  content: unknown;
  error?: string;
  metadata?: Record<string, unknown>;
}

/** Chunks of this call's attempts before this one belong to no result. */
interface ToolChunksDropped {
  type: 'tool chunks dropped';
  session: string;
  runKey: string;
  callKey: string;
  /** The first attempt whose chunks count. */
  attempt: number;
}

/** Items that are sent and never stored. */
export type LiveNotice = PartialText | PartialTextDropped | ToolChunk | ToolChunksDropped;

export type StoreNotice = WriteNotice | LiveNotice;

/** The topic of followers, as processes agree on it: a session by its id, or the turns of whichever has some names. */
export type Topic = { session: string } | { names: SessionNames };

export function topicText(topic: Topic): string {
  if ('session' in topic) return topic.session;
  const { app, userId, sessionId } = topic.names;
  // Ids hold no NUL, so that no session's text is that of names.
  return [app, userId, sessionId].join('\0');
}

/** The feed of followers: written rows at once, and text as it comes. */
export interface LiveFeed {
  /**
   * Tells followers, here and in processes that listen, at once and without waiting: what can't be told is lost, and no
   * caller learns of it. `text` is at most 7 KiB of UTF-8 (`MOST_TEXT_BYTES`), a chunk as much JSON, and told to nobody where
   * it is longer: who tells it splits it. A NUL in text becomes U+001A, a lone surrogate U+FFFD. How often it tells is the
   * caller's affair.
   */
  tell(notice: LiveNotice): void;
  /** Called for what this process does to the store, and tells, until the returned function is called. */
  onNotice(listener: (notice: StoreNotice) => void): () => void;
  /**
   * As `onNotice` for one session, and for what other processes do to it and tell, where the store listens: in PostgreSQL
   * with `listen`. A notice may come twice or not at all. Of other processes it is heard from shortly after this returns:
   * then, and whenever notices were missed, `appended` comes with the session's last seq, from any writer.
   */
  watch(session: string, listener: (notice: StoreNotice) => void): () => void;
  /**
   * Called when a turn begins in the session of these names, and where that may have been missed: for who waits for a
   * session that isn't there, or may be made again. Hears of other processes as `watch` does.
   */
  watchTurns(names: SessionNames, listener: () => void): () => void;
  /**
   * Whether `watch` hears of other processes: PostgreSQL while its listening connection is up, and the embedded store of
   * the process that owns it. Without it followers poll and get no partial text of other processes.
   */
  readonly listens: boolean;
}
