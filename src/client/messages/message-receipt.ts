import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { MessageReceipt } from '../../protocol/message.ts';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import { aboutWorkers, ask } from '../ask-workflow.ts';
import { checkedTimeout } from '../checked-input.ts';
import type { ClientContext } from '../client-context.ts';
import { hasEnded, rejectedReceipt, type SentTurn } from '../turns/await-result.ts';
import { openRun } from '../turns/open-run.ts';
import { runEnd } from '../turns/run-end.ts';
import { sendAgain } from './deliver.ts';

/**
 * The outcome of a message: `confirmed` by the turn that runs or the store, or accepted only: it is in a history and is
 * answered, but nobody has said so yet.
 */
export type Receipt =
  | (MessageReceipt & { confirmed: true })
  | {
      status: 'accepted';
      confirmed: false;
      /** Says whether a worker polls the task queue. */
      reason: string;
    };

export async function receiptOf(context: ClientContext, turn: SentTurn, timeout?: number): Promise<Receipt> {
  const { names, message, taskQueue } = turn;
  const deadline = Date.now() + checkedTimeout(timeout, ANSWER_TIMEOUT);
  let sentAgain = false;
  while (message !== undefined) {
    const asked = await ask<MessageReceipt>(context, names.workflowId, {
      update: SEND_MESSAGE,
      payload: message,
      deadline,
    });
    if (asked.kind === 'answer') return { ...asked.value, confirmed: true };
    if (asked.kind === 'silent') return accepted(await aboutWorkers(context, taskQueue));
    const isLast = turn.disposition !== 'sent' || sentAgain;
    const told =
      (await recordedReceipt(context, turn)) ??
      (await queuedReceipt(context, turn, isLast)) ??
      (await closedReceipt(context, turn, deadline));
    if (told !== undefined) return told;
    if (isLast) return accepted('its run has closed: its result says how');
    await sendAgain(context, turn);
    sentAgain = true;
  }
  return (
    (await recordedReceipt(context, turn)) ??
    (await inboxReceipt(context, turn)) ??
    accepted(await aboutWorkers(context, taskQueue))
  );
}

async function recordedReceipt({ store }: ClientContext, { names }: SentTurn): Promise<Receipt | undefined> {
  const recorded = await store?.turns.findInvocation(names.session, names.invocationId);
  return recorded && receipt(names, hasEnded(recorded) ? 'finished' : 'running');
}

/**
 * A run that was cancelled answers nobody while it closes; what it has accepted waits in the store.
 *
 * @param isLast it isn't sent again where no run is open.
 */
async function queuedReceipt(
  { store, temporal }: ClientContext,
  { names }: SentTurn,
  isLast: boolean,
): Promise<Receipt | undefined> {
  const row = await store?.messages.findWaiting(names.session, names.invocationId);
  if (row?.status !== 'waiting') return undefined;
  const told = isLast || (await openRun(temporal, names.workflowId)) !== undefined;
  return told ? receipt(names, 'queued') : undefined;
}

/** Of a message that was looked for, and of which only the store can say anything. */
async function inboxReceipt({ store }: ClientContext, { names }: SentTurn): Promise<Receipt | undefined> {
  const row = await store?.messages.findWaiting(names.session, names.invocationId);
  if (row?.status === 'rejected') return { ...rejectedReceipt(names, row), confirmed: true };
  return row?.status === 'waiting' ? receipt(names, 'queued') : undefined;
}

async function closedReceipt(
  context: ClientContext,
  { names, runId }: SentTurn,
  deadline: number,
): Promise<Receipt | undefined> {
  const { workflowId, invocationId } = names;
  const end = await runEnd(
    context,
    { workflowId, runId },
    AbortSignal.timeout(Math.max(0, deadline - Date.now())),
  );
  if ('error' in end) return undefined;
  const answered = [end.result, ...(end.result.others ?? [])];
  return answered.some((each) => each.invocationId === invocationId) ? receipt(names, 'finished') : undefined;
}

type Told = 'queued' | 'running' | 'finished';

function receipt({ messageId, invocationId }: SentTurn['names'], status: Told): Receipt {
  return { v: PROTOCOL_VERSION, messageId, invocationId, status, confirmed: true };
}

function accepted(reason: string): Receipt {
  return { status: 'accepted', confirmed: false, reason };
}
