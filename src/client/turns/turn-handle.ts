import type { TurnResult } from '../../protocol/turn.ts';
import type { Store } from '../../store/store.ts';
import type { ClientContext } from '../client-context.ts';
import type { Disposition } from '../messages/deliver.ts';
import { type Receipt, receiptOf } from '../messages/message-receipt.ts';
import { readWhenBack } from '../store-outage.ts';
import { storeOf } from '../stored-context.ts';
import type { FollowOptions } from '../stream/follow-events.ts';
import { LiveItems } from '../stream/live-items.ts';
import { followSession, type SessionStream, streamSession } from '../stream/session-stream.ts';
import type { FollowedEvent, StreamItem } from '../stream/stream-item.ts';
import { placeOf } from '../stream/stream-place.ts';
import { withOutageTold } from '../temporal-outage.ts';
import { awaitResult, type SentTurn } from './await-result.ts';
import type { AnswerOptions } from './steering.ts';

/** A message that was sent, and the turn that answers it. */
export interface TurnHandle {
  workflowId: string;
  /** The run that the message was given to; empty where `turn` finds that its history was deleted. */
  runId: string;
  invocationId: string;
  messageId: string;
  /** The task queue whose workers run it. */
  taskQueue: string;
  /** The turn was under way already. */
  attached: boolean;
  /**
   * `started`: a run begins with this message. `attached`: the turn of this message id was under way. `sent`: the run that
   * answers another message has it, see {@link receipt}.
   */
  disposition: Disposition;
  /**
   * Asks for the message's receipt: it is running, queued, finished, or was not taken. Works with no worker up: without an answer
   * within `timeout` it is `accepted`, not confirmed, and the reason tells whether a worker polls the task queue.
   *
   * @example
   * const { status, confirmed } = await turn.receipt({ timeout: 2_000 });
   */
  receipt(options?: AnswerOptions): Promise<Receipt>;
  /**
   * Waits for the turn's end. A failed turn is a result with `status: 'failed'`. With a store the result of a queued message
   * is there when its own turn has ended; without one when its run has closed, and then without text and usage. A message
   * that was accepted and whose run closes before its turn is sent again, some times. With a store that can't be reached it
   * waits. A turn that was cancelled earlier, by another run than the one that has this message now, is a result with
   * `status: 'interrupted'`.
   *
   * @throws WorkflowFailedError where its run was cancelled, terminated, or failed otherwise.
   * @throws MessageRejected where the run that it was sent to has not taken it.
   */
  result(options?: { signal?: AbortSignal }): Promise<TurnResult>;
  /**
   * The turn's events in order, as they come, until it has ended. A follower that is dropped affects nothing, and one whose
   * store can't be reached waits.
   *
   * Events of the agents that its calls run come with it, marked by `holdfast`: see {@link HoldfastClient.follow}.
   *
   * @param options `after` defaults to before the turn's first event.
   * @throws StoreNeeded, and what {@link result} throws once the events that are there were given.
   * @example
   * for await (const { seq, event } of turn.events()) console.log(seq, event.author, event.content);
   */
  events(options?: FollowOptions): AsyncIterable<FollowedEvent>;
  /**
   * As {@link events}, and between them what is never stored: text of the answer that is being written, where the turn's
   * `streamingMode` is `'sse'`, and calls that begin and settle. See {@link HoldfastClient.stream}.
   *
   * @throws FollowerTooSlow, and what {@link events} throws.
   * @example
   * for await (const item of turn.stream()) if (item.type === 'text') process.stdout.write(item.text);
   */
  stream(options?: FollowOptions): AsyncIterable<StreamItem>;
}

export function turnHandle(context: ClientContext, turn: SentTurn): TurnHandle {
  const { workflowId, invocationId, messageId } = turn.names;
  const { runId, taskQueue, disposition } = turn;
  return {
    workflowId,
    runId,
    invocationId,
    messageId,
    taskQueue,
    attached: disposition === 'attached',
    disposition,
    receipt: (options) => withOutageTold(() => receiptOf(context, turn, options?.timeout)),
    result: (options) => resultOf(context, turn, options?.signal),
    events: (options = {}) => turnEvents(context, storeOf(context, 'events'), turn, options),
    stream: (options = {}) => turnStream(context, storeOf(context, 'stream'), turn, options),
  };
}

async function resultOf(
  context: ClientContext,
  turn: SentTurn,
  signal: AbortSignal | undefined,
): Promise<TurnResult> {
  return await withOutageTold(() => awaitResult(context, turn, signal), signal);
}

async function* turnEvents(
  context: ClientContext,
  store: Store,
  turn: SentTurn,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  yield* untilItsEnd(context, store, turn, options, (following) =>
    followSession(store, turn.names.session, following),
  );
}

async function* turnStream(
  context: ClientContext,
  store: Store,
  turn: SentTurn,
  options: FollowOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  // Before the store is asked for the turn, since text may come meanwhile.
  const live = new LiveItems(store, turn.names.session);
  try {
    yield* untilItsEnd(context, store, turn, options, (following) =>
      streamSession(store, turn.names.session, following, live),
    );
  } finally {
    live.close();
  }
}

async function* untilItsEnd<T>(
  context: ClientContext,
  store: Store,
  turn: SentTurn,
  { after, signal, children }: FollowOptions,
  follow: (options: SessionStream) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const given = after === undefined ? undefined : placeOf(after, 'turn');
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const result = resultOf(context, turn, either);
  result.catch(() => undefined);
  try {
    const { invocationId, before } = await readWhenBack(() => turnPlace(store, turn), signal);
    const from = given ?? { seq: before, children: new Map() };
    const isUnderWay = from.seq > before;
    yield* follow({ after: from, signal, children, until: result, of: invocationId, isUnderWay });
    if (!signal?.aborted) await result;
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    stop.abort();
  }
}

/**
 * The invocation whose events these are, the newest where it was retried, and a seq that none of them comes before. Read in
 * this order, since the turn may begin meanwhile.
 */
async function turnPlace(
  store: Store,
  { names: { session, invocationId } }: SentTurn,
): Promise<{ invocationId: string; before: number }> {
  const known = await store.sessions.find(session);
  const recorded = await store.turns.findInvocation(session, invocationId);
  if (recorded === undefined) return { invocationId, before: known?.seq ?? 0 };
  return { invocationId: recorded.invocationId, before: recorded.from - 1 };
}
