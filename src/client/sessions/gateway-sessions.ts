import type {
  CreateSession,
  ForkSession,
  GetSession,
  ListedSessions,
  ListSessions,
  RetryTurn,
  RewindSession,
  Session,
  SessionSummary,
} from '../../store/sessions/session-store.ts';
import type { StoredEvent } from '../../store/sessions/stored-event.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { appSessionsPath, sessionPath, userSessionsPath, withQuery } from '../gateway-paths.ts';
import type { HoldfastApi } from '../holdfast-api.ts';
import { gatewayTurn, type ToldTurn } from '../turns/gateway-turn.ts';
import type { TurnHandle } from '../turns/turn-handle.ts';
import type { DeletedSessions, DeleteSessionOptions } from './delete-session.ts';

/** How long the gateway waits for a cancelled turn's end at most, milliseconds. */
const LONGEST_TIMEOUT = 90_000;

/** `sessions` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewaySessions implements Pick<HoldfastApi['sessions'], keyof HoldfastApi['sessions']> {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws SessionExists, InvalidTurn */
  async create({ app, userId, sessionId, state }: CreateSession): Promise<Session> {
    const path = userSessionsPath({ app, userId }, 'sessions.create');
    if (sessionId !== undefined) sessionPath({ app, userId, sessionId }, 'sessions.create');
    return whole(await this.#connection.ask<Session>(path, { method: 'POST', body: { sessionId, state } }));
  }

  /** Undefined where there is none. */
  async get({ numRecentEvents, after, afterTimestamp, ...names }: GetSession): Promise<Session | undefined> {
    const path = sessionPath(names, 'sessions.get');
    try {
      const query = { numRecentEvents, after, afterTimestamp };
      return whole(await this.#connection.ask<Session>(withQuery(path, query)));
    } catch (error) {
      if (error instanceof SessionNotFound) return undefined;
      throw error;
    }
  }

  async list({ app, userId, limit, offset, order }: ListSessions): Promise<ListedSessions> {
    const path =
      userId === undefined
        ? appSessionsPath(app, 'sessions.list')
        : userSessionsPath({ app, userId }, 'sessions.list');
    const listed = await this.#connection.ask<ListedSessions>(withQuery(path, { limit, offset, order }));
    return { ...listed, sessions: listed.sessions.map(whole) };
  }

  /** @throws TurnRunning, SessionHasForks, InvalidTurn */
  async delete(options: DeleteSessionOptions): Promise<DeletedSessions> {
    const { cancelRunning, withForks, timeout, idleSince } = options;
    const bounded = timeout === undefined ? undefined : Math.round(Math.min(LONGEST_TIMEOUT, timeout));
    const query = { cancelRunning, withForks, timeout: bounded, idleSince };
    const path = withQuery(sessionPath(options, 'sessions.delete'), query);
    return await this.#connection.ask<DeletedSessions>(path, { method: 'DELETE' });
  }

  /** @throws SessionNotFound, SessionExists, NoSuchPlace, InvalidTurn */
  async fork({ at, to, ...names }: ForkSession): Promise<Session> {
    const path = `${sessionPath(names, 'sessions.fork')}/fork`;
    if (to !== undefined) sessionPath({ ...names, sessionId: to }, 'sessions.fork');
    return whole(await this.#connection.ask<Session>(path, { method: 'POST', body: { at, to } }));
  }

  /** @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn */
  async rewind({ beforeInvocationId, ...names }: RewindSession): Promise<StoredEvent> {
    const path = `${sessionPath(names, 'sessions.rewind')}/rewind`;
    return await this.#connection.ask<StoredEvent>(path, { method: 'POST', body: { beforeInvocationId } });
  }

  /** @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn */
  async retry({ callKey, ...names }: Omit<RetryTurn, 'interrupts'>): Promise<TurnHandle> {
    const path = `${sessionPath(names, 'sessions.retry')}/retry`;
    const told = await this.#connection.ask<ToldTurn>(path, { method: 'POST', body: { callKey } });
    return gatewayTurn(this.#connection, names, told);
  }
}

/** JSON has no undefined. */
function whole<Summary extends SessionSummary>(session: Summary): Summary {
  return 'lastAgent' in session ? session : { ...(session as Summary), lastAgent: undefined };
}
