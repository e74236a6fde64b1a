import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { retryIdOf } from '../../protocol/identity.ts';
import type {
  AppendEvent,
  CreateSession,
  ForkSession,
  GetSession,
  ListedSessions,
  ListSessions,
  RetryTurn,
  RewindSession,
  Session,
} from '../../store/sessions/session-store.ts';
import type { StoredEvent } from '../../store/sessions/stored-event.ts';
import type { Store } from '../../store/store.ts';
import { activeTrace } from '../active-trace.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { tellGivenUp } from '../jobs/tell-job.ts';
import { startRun } from '../messages/deliver.ts';
import { type TurnHandle, turnHandle } from '../turns/turn-handle.ts';
import { checkState, checkText, sessionNamesOf, turnNamesOf } from '../turns/turn-names.ts';
import {
  assertIdle,
  type DeletedExpired,
  type DeletedSessions,
  type DeleteSessionOptions,
  deleteExpired,
  deleteSession,
  turnRunning,
} from './delete-session.ts';

/**
 * The sessions of the client's store; what would take a running turn's ground away is refused while one runs.
 *
 * @throws StoreNeeded where the client has no store.
 * @example
 * const { sessions } = await client.sessions.list({ app: 'shop', userId: 'ada' });
 */
export class ClientSessions {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws SessionExists, InvalidTurn */
  async create(create: CreateSession): Promise<Session> {
    const store = this.#store('sessions.create');
    const { app, userId, sessionId } = create;
    checkText({ app, userId, ...(sessionId === undefined ? {} : { sessionId }) }, 'sessions.create');
    checkState({ state: create.state }, 'sessions.create');
    return await store.sessions.create(create);
  }

  /** Undefined where there is none. */
  async get(get: GetSession): Promise<Session | undefined> {
    const store = this.#store('sessions.get');
    sessionNamesOf(get, 'sessions.get');
    return await store.sessions.get(get);
  }

  async list(list: ListSessions): Promise<ListedSessions> {
    return await this.#store('sessions.list').sessions.list(list);
  }

  /**
   * Deletes a session's content from the store, jobs of its calls included, then asks Temporal to delete the histories of its runs and
   * their children.
   * Audit rows without content stay. Repeating it after a failure finishes it.
   *
   * @throws TurnRunning, SessionHasForks, InvalidTurn
   * @example
   * const { sessions, runs } = await client.sessions.delete({ app, userId, sessionId, cancelRunning: true });
   */
  async delete(options: DeleteSessionOptions): Promise<DeletedSessions> {
    return await deleteSession(this.#context, this.#store('sessions.delete'), options);
  }

  /**
   * Deletes the sessions of an app that nothing was written to since a time. Sessions with a turn or a job that runs, and those
   * that others were forked from, are left.
   *
   * @param olderThan a time, as a number in milliseconds since the epoch.
   * @example
   * await client.sessions.deleteExpired('shop', Date.now() - 90 * 24 * 3_600_000);
   */
  async deleteExpired(app: string, olderThan: Date | number): Promise<DeletedExpired> {
    const store = this.#store('sessions.deleteExpired');
    checkText({ app }, 'sessions.deleteExpired');
    const before = Number(olderThan);
    if (!Number.isFinite(before)) {
      throw new InvalidTurn(
        'sessions.deleteExpired: olderThan: expected a Date or milliseconds since the epoch',
      );
    }
    return await deleteExpired(this.#context, store, app, before);
  }

  /**
   * A session that begins with the events of another, up to a seq. Works while a turn runs.
   *
   * @throws SessionNotFound, SessionExists, NoSuchPlace, InvalidTurn
   */
  async fork(fork: ForkSession): Promise<Session> {
    const store = this.#store('sessions.fork');
    sessionNamesOf(fork, 'sessions.fork');
    if (fork.to !== undefined) checkText({ to: fork.to }, 'sessions.fork');
    return await store.sessions.fork(fork);
  }

  /**
   * Hides what came from an invocation on, and restores the state before it.
   *
   * @returns ADK's marker event, `actions.rewindBeforeInvocationId`.
   * @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn
   */
  async rewind(rewind: RewindSession): Promise<StoredEvent> {
    const store = this.#store('sessions.rewind');
    await assertIdle(this.#context, rewind, 'sessions.rewind');
    return await store.sessions.rewind(rewind);
  }

  /**
   * Appends an event of your own between turns, and applies its state delta: to set state, for one, or to bring what was said
   * elsewhere. Calls and responses belong to turns.
   *
   * @param append `key`: appending again under it changes nothing, and gives the first event.
   * @returns the event, with the store's id and time.
   * @throws TurnRunning, SessionNotFound, InvalidTurn
   * @example
   * const event = createEvent({ author: 'system', actions: { stateDelta: { plan: 'gold' } } });
   * await client.sessions.append({ ...names, key: event.id, event });
   */
  async append(append: AppendEvent): Promise<StoredEvent> {
    const store = this.#store('sessions.append');
    checkText({ key: append.key }, 'sessions.append');
    const { content, actions } = append.event;
    checkState({ 'event.actions.stateDelta': actions?.stateDelta }, 'sessions.append');
    if (content?.parts?.some(({ functionCall, functionResponse }) => functionCall ?? functionResponse)) {
      throw new InvalidTurn('sessions.append: event.content.parts: calls and responses belong to turns');
    }
    await assertIdle(this.#context, append, 'sessions.append');
    return await store.sessions.append(append);
  }

  /**
   * Runs a turn anew from a call on, as another invocation: finished siblings of the call keep their outcomes, the call and
   * all that came later run again under new keys. The turn's message id answers with the newest of its invocations.
   *
   * @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn
   * @example
   * const turn = await client.sessions.retry({ app, userId, sessionId, callKey });
   * const { status, text } = await turn.result();
   */
  async retry(retry: Omit<RetryTurn, 'interrupts'>): Promise<TurnHandle> {
    const store = this.#store('sessions.retry');
    checkText({ callKey: retry.callKey }, 'sessions.retry');
    await assertIdle(this.#context, retry, 'sessions.retry');
    const {
      retryOf,
      generation,
      messageId,
      agent,
      jobs = [],
    } = await store.sessions.prepareRetry({
      ...retry,
      interrupts: true,
    });
    await tellGivenUp(this.#context, jobs);
    const names = {
      ...turnNamesOf(retry, messageId, 'sessions.retry'),
      invocationId: retryIdOf(retryOf, generation),
    };
    const start = {
      v: PROTOCOL_VERSION,
      ...names.session,
      messageId,
      retryOf: { invocationId: retryOf, generation },
      ...(agent === undefined ? {} : { agent }),
      ...activeTrace(),
    };
    const started = await startRun(this.#context, { names, start });
    if (started === undefined) throw turnRunning(names.workflowId);
    return turnHandle(this.#context, { names, start, ...started });
  }

  #store(what: string): Store {
    return storeOf(this.#context, what);
  }
}
