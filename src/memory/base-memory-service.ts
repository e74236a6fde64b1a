import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';

/** A memory of an earlier session. Fields: `MemoryEntry` of `@google/adk` 2.0.0; `id` and `customMetadata` are those of adk-python. */
export interface MemoryEntry {
  content: Content;
  /** `user`, `model`, or the name of an agent. */
  author?: string;
  /** When it was said, ISO 8601. */
  timestamp?: string;
  /**
   * Of an added memory: a key of your own, under which a later one takes its place. Of a found memory: its id in the memory, which
   * deletes it.
   */
  id?: string;
  /** JSON, of at most 16 KiB. */
  customMetadata?: Record<string, unknown>;
}

/** Fields: `SearchMemoryRequest` of `@google/adk` 2.0.0. */
export interface SearchMemoryRequest {
  appName: string;
  userId: string;
  query: string;
}

/** The result of a search of the memory. Fields: `SearchMemoryResponse` of `@google/adk` 2.0.0. */
export interface SearchMemoryResponse {
  memories: MemoryEntry[];
}

/** A session that is added to the memory. Fields: those of `Session` of `@google/adk` 2.0.0. */
export interface RememberedSession {
  id: string;
  appName: string;
  userId: string;
  events: readonly Event[];
}

/** Fields: the arguments of `add_events_to_memory` of adk-python. */
export interface AddEventsToMemoryRequest {
  appName: string;
  userId: string;
  sessionId?: string;
  events: readonly Event[];
  customMetadata?: Record<string, unknown>;
}

/** Fields: the arguments of `add_memory` of adk-python. */
export interface AddMemoryRequest {
  appName: string;
  userId: string;
  memories: readonly MemoryEntry[];
  customMetadata?: Record<string, unknown>;
}

/** Names memories: those of these ids, or of one session; all of the user's where it says neither. */
export interface DeleteMemoryRequest {
  appName: string;
  userId: string;
  ids?: readonly string[];
  sessionId?: string;
}

/**
 * Keeps what agents remember of a user beyond a session. Semantics: the interface of `@google/adk` 2.0.0; the optional methods are those of
 * adk-python. Adding an event twice keeps one memory of it.
 */
export interface BaseMemoryService {
  addSessionToMemory(session: RememberedSession): Promise<void>;
  searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
  addEventsToMemory?(request: AddEventsToMemoryRequest): Promise<void>;
  addMemory?(request: AddMemoryRequest): Promise<void>;
  deleteMemory?(request: DeleteMemoryRequest): Promise<void>;
}
