import type { Content } from '../../events/content.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** The user of an app whose memories are meant. */
export type MemoryOwner = Pick<SessionNames, 'app' | 'userId'>;

/** An embedding, of length 1, and the model that made it: only embeddings of one model and size are compared. */
export interface Embedding {
  model: string;
  values: readonly number[];
}

/** A memory that is to be kept. */
export interface NewMemory {
  content: Content;
  author?: string;
  /** Milliseconds since the epoch. */
  saidAt: number;
  /** Different terms that find it. */
  terms: readonly string[];
  /** Words of its text. */
  words: number;
  embedding?: Embedding;
}

/** A passage of an event. */
export interface EventMemory extends NewMemory {
  seq: number;
  /** Number of the passage in its event, from 0. */
  nth: number;
}

/** A memory that was added by itself. */
export interface AddedMemory extends NewMemory {
  /** One key is one memory of its user, however often it is added. */
  key: string;
  metadata?: Record<string, unknown>;
}

/** A memory that a search has found. */
export interface FoundMemory {
  id: string;
  content: Content;
  author?: string;
  /** Milliseconds since the epoch. */
  saidAt: number;
  metadata?: Record<string, unknown>;
  /** The session that it is of; absent where it was added by itself. */
  sessionId?: string;
}

export interface SearchMemories {
  /** Different terms; a memory with one of them is found. */
  terms: readonly string[];
  /** Memories that are near to it are found, too. */
  embedding?: Embedding;
  /** Memories, at most. */
  limit: number;
}

/**
 * Memories of users, from their sessions and beside them. A memory of a session is deleted with its session, and when a rewind hides
 * its event.
 */
export interface MemoryStore {
  /** A session, and up to which event it was read for memories. Undefined if there is no such session, or if it is that of an agent that a call ran. */
  progress(names: SessionNames): Promise<{ session: string; seq: number } | undefined>;
  /**
   * Keeps memories of a session's events, each once.
   *
   * @param read `upTo`: the session was read up to this event.
   * @returns false where the session is gone.
   */
  rememberEvents(read: { session: string; upTo: number; memories: readonly EventMemory[] }): Promise<boolean>;
  /** @returns ids of the memories, in order. */
  add(owner: MemoryOwner, memories: readonly AddedMemory[]): Promise<string[]>;
  /** The best ones first. */
  search(owner: MemoryOwner, search: SearchMemories): Promise<FoundMemory[]>;
  /** The newest ones first, those that are older than `after`. */
  newest(owner: MemoryOwner, page: { limit: number; after?: string }): Promise<FoundMemory[]>;
  /** Deletes memories, those of these ids or all of the user's, and answers how many. */
  delete(owner: MemoryOwner, ids?: readonly string[]): Promise<number>;
  /** Deletes some of an app's memories that were added by themselves before `before`, milliseconds since the epoch. */
  deleteAddedBefore(app: string, before: number, limit: number): Promise<number>;
}
