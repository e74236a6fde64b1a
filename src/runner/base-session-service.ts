import type { CompositeSessionKey } from '../artifacts/base-artifact-service.ts';
import type { Event } from '../events/event.ts';
import type { Session } from './session.ts';

/** Options for reading a session. Fields: `GetSessionConfig` of `@google/adk` 2.0.0. */
export interface GetSessionConfig {
  /** The last so many events. Defaults to all, and so does 0. */
  numRecentEvents?: number;
  /** Events at or after this time, milliseconds since the epoch. */
  afterTimestamp?: number;
}

export interface CreateSessionRequest {
  appName: string;
  userId: string;
  /** Prefixes `app:` and `user:` write the shared state; `temp:` is left out. */
  state?: Record<string, unknown>;
  /** Defaults to a random one. */
  sessionId?: string;
}

export interface GetSessionRequest extends CompositeSessionKey {
  config?: GetSessionConfig;
}

/** Fields: `ListSessionsRequest` of `@google/adk` 2.0.0. */
export interface ListSessionsRequest {
  appName: string;
  /** Defaults to all users of the app. */
  userId?: string;
  /** Defaults to all. */
  limit?: number;
  /** From 0. Defaults to 0; `page` wins over it. */
  offset?: number;
  /** From 1; needs `limit`. */
  page?: number;
  /** By last update. Defaults to `asc`. */
  order?: 'asc' | 'desc';
}

export type DeleteSessionRequest = CompositeSessionKey;

export interface AppendEventRequest {
  session: Session;
  event: Event;
}

/** A page of sessions, without states and events. Fields: `ListSessionsResponse` of `@google/adk` 2.0.0. */
export interface ListSessionsResponse {
  sessions: Session[];
  page: number;
  limit: number;
  totalItems: number;
  totalPages: number;
}

/**
 * Makes, reads and deletes sessions. Methods: `BaseSessionService` of `@google/adk` 2.0.0. The sessions of a runner are kept by
 * Holdfast's store, with which their turns are durable: a runner takes `InMemorySessionService` and `HoldfastSessionService`,
 * and refuses a class of your own.
 */
export abstract class BaseSessionService {
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** Undefined where there is none. */
  abstract getSession(request: GetSessionRequest): Promise<Session | undefined>;

  abstract listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /** Does nothing where there is none. */
  abstract deleteSession(request: DeleteSessionRequest): Promise<void>;

  abstract appendEvent(request: AppendEventRequest): Promise<Event>;

  async getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, sessionId } = request;
    if (!sessionId) return await this.createSession(request);
    return (
      (await this.getSession({ appName, userId, sessionId })) ??
      (await this.createSession(request).catch((error: unknown) =>
        this.#made({ appName, userId, sessionId }, error),
      ))
    );
  }

  /** Somebody else was faster. */
  async #made(key: CompositeSessionKey, error: unknown): Promise<Session> {
    const made = await this.getSession(key);
    if (made === undefined) throw error;
    return made;
  }
}
