import { setTimeout } from 'node:timers/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { type MessageReceipt, sentDigest } from '../../protocol/message.ts';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import type { InvocationOutcome, TurnResult } from '../../protocol/turn.ts';
import type { InboxRow } from '../../store/messages/message-store.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { isStoreAway } from '../../store/store-errors.ts';
import type { RecordedInvocation } from '../../store/turns/turn-store.ts';
import { ask } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { MessageRejected, NoAnswer } from '../client-errors.ts';
import { type Delivery, isAccepted, rejected, sendAgain } from '../messages/deliver.ts';
import type { OutgoingTurn } from '../messages/outgoing-turn.ts';
import { readWhenBack } from '../store-outage.ts';
import { SessionNews } from '../stream/session-news.ts';
import { endsSoon, latestRun, openRun } from './open-run.ts';
import { type RunEnd, runEnd, wasCancelled, wasRefused, wasStopped } from './run-end.ts';
import { queryStatus } from './steering.ts';
import { storedTurn } from './stored-turn.ts';
import type { TurnNames } from './turn-names.ts';

/** A turn with the receipt of its message. */
export interface SentTurn extends OutgoingTurn, Delivery {
  /** Of one that had ended when it was looked for. */
  ended?: EndedInvocation;
}

export type EndedInvocation = RecordedInvocation & { outcome: InvocationOutcome };

const MOST_SENDS = 5;

/** Milliseconds to wait for a run that closes after the end of its last invocation. */
const CLOSING = 1_000;

/**
 * Waits for a turn's end, wherever it is answered. A message that was accepted and that no run has begun is sent again. The
 * value of an answer by a schema is read from the store, where the result only refers to it.
 *
 * @throws WorkflowFailedError where its run was cancelled, terminated, or failed otherwise than by the turn's failure.
 * @throws MessageRejected
 */
export async function awaitResult(
  context: ClientContext,
  turn: SentTurn,
  signal?: AbortSignal,
): Promise<TurnResult> {
  const result = await turnEnd(context, turn, signal);
  const { output } = result;
  const { store } = context;
  if (output === undefined || !('ref' in output) || store === undefined) return result;
  const { session } = turn.names;
  const text = await readWhenBack(() => store.turns.readReference(session, output.ref.key), signal);
  // A session that was deleted meanwhile has nothing to read any more.
  return typeof text === 'string' ? { ...result, output: { value: JSON.parse(text) } } : result;
}

async function turnEnd(
  context: ClientContext,
  turn: SentTurn,
  signal: AbortSignal | undefined,
): Promise<TurnResult> {
  if (turn.ended !== undefined) return resultOf(turn.ended);
  const { workflowId } = turn.names;
  let { runId } = turn;
  for (let sent = 1; ; ) {
    const end = await firstEnd(context, turn, runId, signal);
    signal?.throwIfAborted();
    const error = 'error' in end ? end.error : undefined;
    const { result, begun } = await resultAfter(context, turn, end, signal);
    if (result !== undefined) return result;
    const closed = error === undefined || error instanceof WorkflowFailedError;
    const mayBeSent = turn.disposition === 'sent' && closed && !wasRefused(error) && sent < MOST_SENDS;
    const sendable = mayBeSent ? await withContent(context, turn, signal) : undefined;
    if (sendable === undefined) throw error ?? neverBegun(workflowId, sent);
    if (begun) {
      if (error !== undefined) throw error;
      const open = await openRun(context.temporal, workflowId);
      if (open !== undefined && open.runId !== runId) {
        runId = open.runId;
        continue;
      }
    }
    sent += 1;
    runId = (await readWhenBack(() => sendAgain(context, sendable), signal)).runId;
  }
}

/** A turn that was looked for has its message in the store's inbox, or nowhere. */
async function withContent(
  { store }: ClientContext,
  turn: SentTurn,
  signal: AbortSignal | undefined,
): Promise<SentTurn | undefined> {
  if (turn.message !== undefined || store === undefined) return turn.message && turn;
  const { session, invocationId } = turn.names;
  const row = await readWhenBack(() => store.messages.findWaiting(session, invocationId), signal);
  return row?.status === 'waiting' ? { ...turn, ...storedTurn(turn.names, row) } : undefined;
}

/** The first of two: the end of the run, or the store's word that this invocation has ended. */
async function firstEnd(
  context: ClientContext,
  turn: SentTurn,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<RunEnd> {
  const { store } = context;
  const { session, workflowId, invocationId } = turn.names;
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const run = runEnd(context, { workflowId, runId }, either);
  try {
    if (store === undefined) return await run;
    const recorded = recordedEnd(context, store, turn, either);
    recorded.catch(() => undefined);
    const first = await Promise.race([run, recorded]);
    if (!('outcome' in first)) return first;
    // Another message had this id before: the run that was begun with this one refuses it.
    if (isOfAnother(turn, first)) return await run;
    const cancelled = isCancelled(first.outcome);
    // A caller with the result may want the session idle, for a rewind or its next message.
    const closes = cancelled
      ? await endsSoon(context.temporal, { workflowId, runId })
      : !(await readWhenBack(() => anyWaits(store, session), either));
    if (closes) {
      const closed = await Promise.race([run, setTimeout(CLOSING, undefined, { signal: either })]);
      if (closed && (isOwn(closed, invocationId) || (cancelled && 'error' in closed))) return closed;
    }
    return { result: resultOf(first) };
  } finally {
    stop.abort();
  }
}

function isOfAnother({ disposition, message }: SentTurn, { messageDigest }: EndedInvocation): boolean {
  const isBegun = disposition === 'started' && message !== undefined && messageDigest !== undefined;
  return isBegun && messageDigest !== sentDigest(message);
}

function isOwn(end: RunEnd, invocationId: string): boolean {
  return 'result' in end && end.result.invocationId === invocationId;
}

async function anyWaits(store: Store, session: SessionNames): Promise<boolean> {
  return (await store.messages.readInbox(session)).some(({ status }) => status === 'waiting');
}

async function recordedEnd(
  context: ClientContext,
  store: Store,
  turn: SentTurn,
  signal: AbortSignal,
): Promise<EndedInvocation> {
  const { names, disposition } = turn;
  let accepted = disposition !== 'sent';
  let session: string | undefined;
  for (;;) {
    const news = new SessionNews(store, session, names.session);
    try {
      const recorded = await store.turns.findInvocation(names.session, names.invocationId);
      if (hasEnded(recorded)) return recorded;
      session ??= recorded?.session ?? (await store.sessions.find(names.session))?.session;
      if (!accepted) accepted = recorded !== undefined || (await isInQueue(context, store, turn));
      await news.wait(signal);
    } catch (error) {
      // The run's own result comes without the store, which may be back before.
      if (!isStoreAway(error)) throw error;
      await news.wait(signal);
    } finally {
      news.close();
    }
    signal.throwIfAborted();
  }
}

/** @throws MessageRejected where the run has refused the message, and still does. */
async function isInQueue(
  context: ClientContext,
  store: Store,
  { names, message }: SentTurn,
): Promise<boolean> {
  const { session, workflowId, invocationId } = names;
  const row = await store.messages.findWaiting(session, invocationId);
  if (row?.status !== 'rejected') return row?.status === 'waiting';
  if (message === undefined) throw rejected(workflowId, rejectedReceipt(names, row));
  // The row may be of an earlier try to send this message.
  const deadline = Date.now() + ANSWER_TIMEOUT;
  const asked = await ask<MessageReceipt>(context, workflowId, {
    update: SEND_MESSAGE,
    payload: message,
    deadline,
  });
  if (asked.kind !== 'answer') return false;
  if (!isAccepted(asked.value)) throw rejected(workflowId, asked.value);
  return true;
}

/** A closed run's and the store's knowledge of an invocation: its result, or whether it was begun. */
async function resultAfter(
  context: ClientContext,
  { names, disposition }: SentTurn,
  end: RunEnd,
  signal: AbortSignal | undefined,
): Promise<{ result?: TurnResult; begun?: boolean }> {
  const { session, invocationId } = names;
  const error = 'error' in end ? end.error : undefined;
  if ('result' in end && end.result.invocationId === invocationId) return { result: end.result };
  const recorded = await readWhenBack(
    async () => await context.store?.turns.findInvocation(session, invocationId),
    signal,
  );
  if (hasEnded(recorded) && !(isCancelled(recorded.outcome) && wasCancelled(error))) {
    return { result: resultOf(recorded) };
  }
  if (recorded !== undefined) return { begun: true };
  const other =
    'result' in end ? end.result.others?.find((each) => each.invocationId === invocationId) : undefined;
  if (other !== undefined) return { result: { v: PROTOCOL_VERSION, ...other, usage: NOT_TOLD } };
  if (context.store !== undefined || disposition !== 'sent' || !wasStopped(error)) return { begun: false };
  return { begun: await wasLast(context, names) };
}

/** Whether a run that was stopped was answering this message; where nobody can say, it is not begun a second time. */
async function wasLast(
  context: ClientContext,
  { workflowId, invocationId, messageId }: SentTurn['names'],
): Promise<boolean> {
  const run = await latestRun(context.temporal, workflowId);
  if (run === undefined) return false;
  const handle = context.temporal.workflow.getHandle(workflowId, run.runId);
  if (!(await wasProcessed(context, handle, messageId))) return false;
  try {
    const status = await queryStatus(context, run, ANSWER_TIMEOUT);
    return status === undefined || status.invocationId === invocationId;
  } catch (error) {
    if (error instanceof NoAnswer) return true;
    throw error;
  }
}

/** A run tells only the outcomes of later invocations. */
const NOT_TOLD = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

export function hasEnded(recorded: RecordedInvocation | undefined): recorded is EndedInvocation {
  return recorded?.outcome !== undefined;
}

function isCancelled({ status, error }: InvocationOutcome): boolean {
  return status === 'interrupted' && error?.code === 'CANCELLED';
}

function resultOf({ invocationId, outcome, from, to }: EndedInvocation): TurnResult {
  return { v: PROTOCOL_VERSION, invocationId, ...outcome, events: { from, to } };
}

/** The inbox row's outcome of a message that was not taken. */
export function rejectedReceipt(
  { messageId, invocationId }: TurnNames,
  { reason }: InboxRow,
): MessageReceipt {
  return {
    v: PROTOCOL_VERSION,
    messageId,
    invocationId,
    status: 'rejected',
    ...(reason === undefined ? {} : { reason }),
  };
}

function neverBegun(workflowId: string, sent: number): MessageRejected {
  return new MessageRejected(
    `the message to session ${workflowId} was sent ${sent} times, and no run has begun it: look at the runs of this id`,
  );
}

/** Whether a worker has taken up what a closed run was sent: a message that came after the last completed task was never seen. */
async function wasProcessed(
  { temporal }: ClientContext,
  run: WorkflowHandle,
  messageId: string,
): Promise<boolean> {
  const events = (await run.fetchHistory()).events ?? [];
  const last = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes);
  for (const { workflowExecutionSignaledEventAttributes: signal } of events.slice(last + 1)) {
    if (signal?.signalName !== SEND_MESSAGE) continue;
    const [sent] = await decodeArrayFromPayloads(
      temporal.options.loadedDataConverter,
      signal.input?.payloads,
    );
    if (typeof sent === 'object' && sent !== null && 'messageId' in sent && sent.messageId === messageId) {
      return false;
    }
  }
  return true;
}
