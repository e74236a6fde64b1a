import type { SessionNames } from '../sessions/session-names.ts';

/** Content of a version: bytes of a type, text, or the address of bytes elsewhere. */
export type ArtifactContent =
  | { kind: 'inline'; blob: string; mimeType: string; displayName?: string }
  | { kind: 'text'; blob: string }
  | { kind: 'file'; uri: string; mimeType?: string; displayName?: string };

/** A version that a call or a step has saved, and that is recorded with its outcome. */
export type SavedArtifact = ArtifactContent & {
  name: string;
  version: number;
  metadata?: Record<string, unknown>;
};

/** A recorded version. */
export interface StoredArtifact {
  name: string;
  version: number;
  content: ArtifactContent;
  metadata?: Record<string, unknown>;
  /** Of the bytes; absent where the artifact is an address. */
  bytes?: { size: number; sha256: string };
  /** Milliseconds since the epoch. */
  savedAt: number;
}

/** Whose artifacts: those of a session and its user, by the store's id of the session or by names. */
export type ArtifactOwner = { session: string } | SessionNames;

/**
 * Versions of artifacts. Names that begin with `user:` are the user's, in all sessions of an app; others are the session's. Agents that a
 * tool calls share the artifacts of the session above them.
 */
export interface ArtifactStore {
  /**
   * Number of the version that a call, or a step, saves as its `nth` of this name: each attempt gets the same one. The version itself is
   * recorded when the call settles or the step commits. A number whose version never is, is not used again.
   */
  reserveVersion(save: { session: string; key: string; name: string; nth: number }): Promise<number>;
  /**
   * Saves a version outside of calls and steps, such as an upload.
   *
   * @param save `key` makes it one save, however often it is sent.
   * @returns undefined where the artifact would be a session's, and there is none.
   */
  save(
    save: SessionNames & {
      name: string;
      content: ArtifactContent;
      metadata?: Record<string, unknown>;
      key?: string;
      /** Makes the session where it is not there. @default false */
      makesSession?: boolean;
    },
  ): Promise<number | undefined>;
  /** Newest version, or the given one. Undefined where it is not there. */
  find(owner: ArtifactOwner, name: string, version?: number): Promise<StoredArtifact | undefined>;
  /** Names of the session and of its user, sorted. */
  names(owner: ArtifactOwner): Promise<string[]>;
  /** Newest versions by name, those after `after`. */
  list(owner: ArtifactOwner, page: { limit: number; after?: string }): Promise<StoredArtifact[]>;
  /** Oldest first; empty for a name that is not there. */
  versions(owner: ArtifactOwner, name: string): Promise<StoredArtifact[]>;
  /** Names of the session whose artifacts a session shares: its own, or those of the session above all agents that tools have called. */
  sharedBy(session: string): Promise<SessionNames | undefined>;
  /** Deletes all versions, and answers how many there were. */
  delete(owner: ArtifactOwner, name: string): Promise<number>;
}
