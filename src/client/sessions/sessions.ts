import type { StoredEvent } from '../../contract/events.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';
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
  listOfSessions,
  type RetriedCall,
  type RewindSession,
  rewindSession,
  type SESSIONS,
  type Session,
} from '../../contract/sessions.ts';
import type { TurnHandle } from '../turns/turn-handle.ts';

/**
 * Sessions, whichever way they are reached; what would take a running turn's ground away is refused while one runs.
 *
 * @throws StoreNeeded of each method of a client that has no store.
 * @example
 * const { sessions } = await client.sessions.list({ app: 'shop', userId: 'ada' });
 */
export class Sessions implements MethodsOf<typeof SESSIONS> {
  readonly #call: Call;
  readonly #retry: (retry: RetriedCall) => Promise<TurnHandle>;

  /**
   * @param retry gives a handle of the turn, which is the way's own.
   * @internal
   */
  constructor(call: Call, retry: (retry: RetriedCall) => Promise<TurnHandle>) {
    this.#call = call;
    this.#retry = retry;
  }

  /**
   * @param create.state prefixes `app:` and `user:` write the shared state; `temp:` is left out.
   * @throws SessionExists, InvalidTurn
   */
  async create(create: CreateSession): Promise<Session> {
    return await this.#call(createSession, create, OPERATOR);
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
    return await this.#call(getSession, get, OPERATOR);
  }

  /**
   * A page of an app's sessions, by the time when they were made, or last changed by a turn's begin or end, an event or a rewind.
   *
   * @param list.userId defaults to all users of the app.
   * @param list.limit at most 1,000; defaults to 100.
   * @param list.after the `next` of the page before.
   * @param list.order defaults to `desc`.
   * @param list.withTotal counts those of all pages, each of which is read. Defaults to false.
   * @throws InvalidTurn
   * @example
   * let after: string | undefined;
   * do {
   *   const page = await client.sessions.list({ app: 'shop', ...(after && { after }) });
   *   for (const { sessionId } of page.sessions) console.log(sessionId);
   *   after = page.next;
   * } while (after !== undefined);
   */
  async list(list: ListSessions): Promise<ListedSessions> {
    return await this.#call(listOfSessions(list), list as Required<ListSessions>, OPERATOR);
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
    return await this.#call(deleteSession, options, OPERATOR);
  }

  /**
   * A session that begins with the events of another, up to a seq. Works while a turn runs.
   *
   * @param fork.at last seq that the fork has. Defaults to the session's last.
   * @param fork.to id of the fork. Defaults to a random one.
   * @throws SessionNotFound, SessionExists, NoSuchPlace, InvalidTurn
   */
  async fork(fork: ForkSession): Promise<Session> {
    return await this.#call(forkSession, fork, OPERATOR);
  }

  /**
   * Hides what came from an invocation on, and restores the state before it.
   *
   * @returns ADK's marker event, `actions.rewindBeforeInvocationId`.
   * @throws TurnRunning, SessionNotFound, NoSuchPlace, InvalidTurn
   */
  async rewind(rewind: RewindSession): Promise<StoredEvent> {
    return await this.#call(rewindSession, rewind, OPERATOR);
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
  async retry(retry: RetriedCall): Promise<TurnHandle> {
    return await this.#retry(retry);
  }
}
