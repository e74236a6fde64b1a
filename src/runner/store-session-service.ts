import { InvalidTurn } from '../client/client-errors.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { ClientSessions } from '../client/sessions/client-sessions.ts';
import type { SessionSummary } from '../contract/sessions.ts';
import type { Event } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  type DeleteSessionRequest,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from './base-session-service.ts';
import { createSession, type Session, sessionOfStored } from './session.ts';
import type { SessionAccess } from './session-access.ts';

/** Sessions that are read at once where all are listed. */
const PAGE = 500;

/** The sessions of a store, with ADK's methods. Semantics: `InMemorySessionService` of `@google/adk` 2.0.0. */
export abstract class StoreSessionService extends BaseSessionService {
  readonly #access: SessionAccess;

  constructor(access: SessionAccess) {
    super();
    this.#access = access;
  }

  /** For runners. */
  static accessOf(service: StoreSessionService): SessionAccess {
    return service.#access;
  }

  /** @throws SessionExists where there is one of this id; 2.0.0 replaces it. */
  async createSession({ appName, userId, state, sessionId }: CreateSessionRequest): Promise<Session> {
    return await this.#use(async ({ sessions }) =>
      sessionOfStored(
        await sessions.create({
          app: appName,
          userId,
          ...(sessionId ? { sessionId } : {}),
          ...defined({ state }),
        }),
      ),
    );
  }

  async getSession({ appName, userId, sessionId, config }: GetSessionRequest): Promise<Session | undefined> {
    const { numRecentEvents, afterTimestamp } = config ?? {};
    return await this.#use(async ({ sessions }) => {
      const stored = await sessions.get({
        app: appName,
        userId,
        sessionId,
        ...(numRecentEvents ? { numRecentEvents } : {}),
        ...(afterTimestamp ? { afterTimestamp } : {}),
      });
      return stored && sessionOfStored(stored);
    });
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, limit = Number.POSITIVE_INFINITY, order = 'asc' } = request;
    return await this.#use(async ({ sessions }) => {
      // With none wanted the total still is.
      const list = { app: appName, ...defined({ userId }), order, limit: Math.max(1, Math.min(PAGE, limit)) };
      let page = await sessions.list({ ...list, offset: pageOffset(request), withTotal: true });
      const { totalItems = 0 } = page;
      const found = new Map(page.sessions.map((session) => [keyOf(session), session]));
      while (page.next !== undefined && found.size < limit) {
        page = await sessions.list({ ...list, after: page.next });
        // One that has moved to a later page meanwhile is there once.
        for (const session of page.sessions) found.set(keyOf(session), session);
      }
      const listed = [...found.values()]
        .slice(0, limit)
        .map(({ sessionId, app, userId: user, updatedAt }) =>
          createSession({ id: sessionId, appName: app, userId: user, lastUpdateTime: updatedAt }),
        );
      return { sessions: listed, ...pageNumbers(request, totalItems) };
    });
  }

  /** Cancels a turn of the session that still runs. */
  async deleteSession({ appName, userId, sessionId }: DeleteSessionRequest): Promise<void> {
    await this.#use(({ sessions }) =>
      sessions.delete({ app: appName, userId, sessionId, cancelRunning: true }),
    );
  }

  /**
   * Writes an event between turns, and its state delta. `session` gets both, as in ADK; the event that is returned has the
   * store's id and time. Partial events are left out.
   *
   * @throws TurnRunning while a turn of the session runs: tools and callbacks write state by their context.
   * @throws InvalidTurn for calls and responses, which belong to turns, and where the client has no `sessions.append`.
   */
  async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const names = { app: session.appName, userId: session.userId, sessionId: session.id };
    const { event: appended } = await this.#use(async ({ sessions }) => {
      if (!canAppend(sessions)) {
        throw new InvalidTurn(
          'appendEvent: this client appends no events: use a HoldfastClient with a store',
        );
      }
      return await sessions.append({ ...names, key: event.id, event });
    });
    for (const [key, value] of Object.entries(appended.actions.stateDelta)) {
      Object.defineProperty(session.state, key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    if (!session.events.some(({ id }) => id === appended.id)) session.events.push(appended);
    session.lastUpdateTime = appended.timestamp;
    return appended;
  }

  async #use<T>(run: (api: HoldfastApi) => Promise<T>): Promise<T> {
    const { api, release } = await this.#access.hold();
    try {
      return await run(api);
    } finally {
      release();
    }
  }
}

/** Within one app. */
function keyOf({ userId, sessionId }: SessionSummary): string {
  return JSON.stringify([userId, sessionId]);
}

function canAppend(sessions: HoldfastApi['sessions']): sessions is ClientSessions {
  return 'append' in sessions;
}

type Paging = Pick<ListSessionsRequest, 'limit' | 'offset' | 'page'>;

/** Where a page begins. Semantics: `listSessions` of `@google/adk` 2.0.0. */
export function pageOffset({ limit, offset = 0, page }: Paging): number {
  return page === undefined || limit === undefined ? offset : (page - 1) * limit;
}

/** The shape of a page. */
export function pageNumbers(paging: Paging, totalItems: number): Omit<ListSessionsResponse, 'sessions'> {
  const { limit, page } = paging;
  if (limit === undefined) {
    return { page: 1, limit: totalItems, totalItems, totalPages: totalItems === 0 ? 0 : 1 };
  }
  return {
    page: page ?? (limit === 0 ? 1 : Math.floor(pageOffset(paging) / limit) + 1),
    limit,
    totalItems,
    totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
  };
}
