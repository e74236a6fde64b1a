import type { StoredEvent } from '../../contract/events.ts';
import type { Call, Handlers, OperationsOf } from '../../contract/operation.ts';
import {
  APPENDED_EVENT,
  EXPIRED_SESSIONS,
  type RetriedCall,
  retryTurn,
  type SESSIONS,
} from '../../contract/sessions.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { retryIdOf } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { AppendEvent } from '../../store/sessions/session-store.ts';
import { activeTrace } from '../active-trace.ts';
import { checkedFields, checkedInput } from '../checked-input.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { tellGivenUp } from '../jobs/tell-job.ts';
import { startRun } from '../messages/deliver.ts';
import { storeOf } from '../stored-context.ts';
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
import { Sessions } from './sessions.ts';
import { storedSessions } from './stored-sessions.ts';

/** Performs what is done to sessions. */
export const sessionHandlers: Handlers<OperationsOf<typeof SESSIONS>, ClientContext> = {
  ...storedSessions,
  'sessions.create': async (create, context) => {
    const store = storeOf(context, 'sessions.create');
    checkState({ state: create.state }, 'sessions.create');
    return await store.sessions.create(create);
  },
  'sessions.delete': async (named, context) => {
    const store = storeOf(context, 'sessions.delete');
    return await withOutageTold(() => deleteWithRuns(context, store, named));
  },
  'sessions.rewind': async (rewind, context) => {
    const store = storeOf(context, 'sessions.rewind');
    await idle(context, rewind, 'sessions.rewind');
    return await store.sessions.rewind(rewind);
  },
};

/** Sessions of the client's store: beside the operations what only owners of the store may do. */
export class ClientSessions extends Sessions {
  readonly #context: ClientContext;

  constructor(call: Call, context: ClientContext) {
    super(call, (retry) => retried(context, retry));
    this.#context = context;
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
    const store = storeOf(this.#context, method);
    const given = checkedFields(EXPIRED_SESSIONS, { app, olderThan: Number(olderThan) }, method);
    return await withOutageTold(() => deleteExpired(this.#context, store, given.app, given.olderThan));
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
    const store = storeOf(this.#context, 'sessions.append');
    checkedFields(APPENDED_EVENT, append, 'sessions.append');
    const { content, actions } = append.event;
    checkState({ 'event.actions.stateDelta': actions?.stateDelta }, 'sessions.append');
    if (content?.parts?.some(({ functionCall, functionResponse }) => functionCall ?? functionResponse)) {
      throw new InvalidTurn('sessions.append: event.content.parts: calls and responses belong to turns');
    }
    await idle(this.#context, append, 'sessions.append');
    return await store.sessions.append(append);
  }
}

async function retried(context: ClientContext, given: RetriedCall): Promise<TurnHandle> {
  const store = storeOf(context, retryTurn.name);
  const retry = checkedInput(retryTurn, given);
  await idle(context, retry, retryTurn.name);
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
  await tellGivenUp(context, jobs);
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
  const started = await withOutageTold(() => startRun(context, { names, start }));
  if (started === undefined) throw turnRunning(names.workflowId);
  return turnHandle(context, { names, start, ...started });
}

async function idle(context: ClientContext, names: SessionNames, what: string): Promise<void> {
  await withOutageTold(() => assertIdle(context, names, what));
}
