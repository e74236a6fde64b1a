import type { StoredEvent } from '../../contract/events.ts';
import {
  type CreateSession,
  createSession,
  type DeletedSessions,
  type DeleteSessionOptions,
  deleteSession,
  type ForkSession,
  forkSession,
  type GetSession,
  getSession,
  type ListedSessions,
  type ListSessions,
  LONGEST_END,
  listOfSessions,
  type RetriedCall,
  type RewindSession,
  retryTurn,
  rewindSession,
  SESSION_TO_DELETE,
  type Session,
} from '../../contract/sessions.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { checkedFields, checkedInput, checkedTimeout } from '../checked-input.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import type { HoldfastApi } from '../holdfast-api.ts';
import { gatewayTurn, type ToldTurn } from '../turns/gateway-turn.ts';
import type { TurnHandle } from '../turns/turn-handle.ts';

/** `sessions` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewaySessions implements Pick<HoldfastApi['sessions'], keyof HoldfastApi['sessions']> {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws SessionExists, InvalidTurn */
  async create(create: CreateSession): Promise<Session> {
    const { input } = checkedInput(createSession, create);
    return await this.#connection.call(createSession, input);
  }

  /** Undefined where there is none. */
  async get(get: GetSession): Promise<Session | undefined> {
    const { input } = checkedInput(getSession, get);
    try {
      return await this.#connection.call(getSession, input);
    } catch (error) {
      if (error instanceof SessionNotFound) return undefined;
      throw error;
    }
  }

  /** @throws InvalidTurn */
  async list(list: ListSessions): Promise<ListedSessions> {
    const operation = listOfSessions(list);
    const { input } = checkedInput(operation, list);
    return await this.#connection.call(operation, input);
  }

  /** @throws TurnRunning, SessionHasForks, InvalidTurn */
  async delete(options: DeleteSessionOptions): Promise<DeletedSessions> {
    const { timeout } = options;
    return await this.#connection.call(deleteSession, {
      ...checkedFields(SESSION_TO_DELETE, options, deleteSession.name),
      timeout:
        timeout === undefined ? undefined : Math.round(Math.min(LONGEST_END, checkedTimeout(timeout, 0))),
    });
  }

  /** @throws SessionNotFound, SessionExists, NoSuchPlace, InvalidTurn */
  async fork(fork: ForkSession): Promise<Session> {
    const { input } = checkedInput(forkSession, fork);
    return await this.#connection.call(forkSession, input);
  }

  /** @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn */
  async rewind(rewind: RewindSession): Promise<StoredEvent> {
    return await this.#connection.call(rewindSession, checkedInput(rewindSession, rewind).input);
  }

  /** @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn */
  async retry(retry: RetriedCall): Promise<TurnHandle> {
    const { input } = checkedInput(retryTurn, retry);
    return gatewayTurn(this.#connection, input, await this.#connection.call<ToldTurn>(retryTurn, input));
  }
}
