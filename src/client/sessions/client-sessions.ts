import type { StoredEvent } from '../../contract/events.ts';
import {
  APPENDED_EVENT,
  type CreateSession,
  createSession,
  type DeletedSessions,
  type DeleteSessionOptions,
  deleteSession,
  EXPIRED_SESSIONS,
  type ForkSession,
  forkSession,
  type GetSession,
  getSession,
  type ListedSessions,
  type ListSessions,
  listOfSessions,
  type RetriedCall,
  type RewindSession,
  retryTurn,
  rewindSession,
  SESSION_TO_DELETE,
  type Session,
} from '../../contract/sessions.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { retryIdOf } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { AppendEvent } from '../../store/sessions/session-store.ts';
import type { Store } from '../../store/store.ts';
import { activeTrace } from '../active-trace.ts';
import { checkedFields, checkedInput } from '../checked-input.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { tellGivenUp } from '../jobs/tell-job.ts';
import { startRun } from '../messages/deliver.ts';
import { StoredSessions } from '../stored-api.ts';
import { withOutageTold } from '../temporal-outage.ts';
import { type TurnHandle, turnHandle } from '../turns/turn-handle.ts';
import { checkState, turnNamesOf } from '../turns/turn-names.ts';
import {
  assertIdle,
  type DeletedExpired,
  deleteExpired,
  deleteWithRuns,
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

  /**
   * @param create.state prefixes `app:` and `user:` write the shared state; `temp:` is left out.
   * @throws SessionExists, InvalidTurn
   */
  async create(create: CreateSession): Promise<Session> {
    const store = this.#store(createSession.name);
    const { input } = checkedInput(createSession, create);
    checkState({ state: input.state }, createSession.name);
    return await store.sessions.create(input);
  }

  /**
   * Undefined where there is none.
   *
   * @param get.numRecentEvents the last so many events; 0 for none. Defaults to all.
   * @param get.after events after this seq.
   * @param get.afterTimestamp events at or after this time, milliseconds since the epoch; ADK's option.
   * @throws InvalidTurn
   */
  async get(get: GetSession): Promise<Session | undefined> {
    return await this.#stored(getSession.name).get(get);
  }

  /**
   * @param list.userId defaults to all users of the app.
   * @param list.limit at most 1,000; defaults to 100.
   * @param list.order by last update. Defaults to `desc`.
   * @throws InvalidTurn
   */
  async list(list: ListSessions): Promise<ListedSessions> {
    return await this.#stored(listOfSessions(list).name).list(list);
  }

  /**
   * Deletes a session's content from the store, jobs of its calls included, then asks Temporal to delete the histories of its runs and
   * their children.
   * Audit rows without content stay. Repeating it after a failure finishes it.
   *
   * @param options.withForks deletes the sessions that were forked from it, and from those, too. Defaults to false.
   * @param options.cancelRunning cancels a turn that runs, and waits for its end. Defaults to false: then it is refused.
   * @param options.timeout how long the end of a cancelled turn is waited for, milliseconds. Defaults to 30,000.
   * @param options.idleSince nothing is deleted where the session, or a fork that is deleted with it, was written to at this time or
   * later, milliseconds since the epoch.
   * @throws TurnRunning, SessionHasForks, InvalidTurn
   * @example
   * const { sessions, runs } = await client.sessions.delete({ app, userId, sessionId, cancelRunning: true });
   */
  async delete(options: DeleteSessionOptions): Promise<DeletedSessions> {
    const store = this.#store(deleteSession.name);
    const { timeout } = options;
    const named = checkedFields(SESSION_TO_DELETE, options, deleteSession.name);
    return await withOutageTold(() =>
      deleteWithRuns(this.#context, store, { ...named, ...(timeout === undefined ? {} : { timeout }) }),
    );
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
    const method = 'sessions.deleteExpired';
    const store = this.#store(method);
    const given = checkedFields(EXPIRED_SESSIONS, { app, olderThan: Number(olderThan) }, method);
    return await withOutageTold(() => deleteExpired(this.#context, store, given.app, given.olderThan));
  }

  /**
   * A session that begins with the events of another, up to a seq. Works while a turn runs.
   *
   * @param fork.at last seq that the fork has. Defaults to the session's last.
   * @param fork.to id of the fork. Defaults to a random one.
   * @throws SessionNotFound, SessionExists, NoSuchPlace, InvalidTurn
   */
  async fork(fork: ForkSession): Promise<Session> {
    return await this.#stored(forkSession.name).fork(fork);
  }

  /**
   * Hides what came from an invocation on, and restores the state before it.
   *
   * @returns ADK's marker event, `actions.rewindBeforeInvocationId`.
   * @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn
   */
  async rewind(rewind: RewindSession): Promise<StoredEvent> {
    const store = this.#store(rewindSession.name);
    const { input } = checkedInput(rewindSession, rewind);
    await this.#assertIdle(input, rewindSession.name);
    return await store.sessions.rewind(input);
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
    checkedFields(APPENDED_EVENT, append, 'sessions.append');
    const { content, actions } = append.event;
    checkState({ 'event.actions.stateDelta': actions?.stateDelta }, 'sessions.append');
    if (content?.parts?.some(({ functionCall, functionResponse }) => functionCall ?? functionResponse)) {
      throw new InvalidTurn('sessions.append: event.content.parts: calls and responses belong to turns');
    }
    await this.#assertIdle(append, 'sessions.append');
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
  async retry(given: RetriedCall): Promise<TurnHandle> {
    const store = this.#store(retryTurn.name);
    const retry = checkedInput(retryTurn, given).input;
    await this.#assertIdle(retry, retryTurn.name);
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
      ...turnNamesOf(retry, messageId, retryTurn.name),
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
    const started = await withOutageTold(() => startRun(this.#context, { names, start }));
    if (started === undefined) throw turnRunning(names.workflowId);
    return turnHandle(this.#context, { names, start, ...started });
  }

  async #assertIdle(names: SessionNames, what: string): Promise<void> {
    await withOutageTold(() => assertIdle(this.#context, names, what));
  }

  #stored(what: string): StoredSessions {
    return new StoredSessions(this.#store(what));
  }

  #store(what: string): Store {
    return storeOf(this.#context, what);
  }
}
