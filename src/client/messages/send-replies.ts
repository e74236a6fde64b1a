import { WorkflowNotFoundError } from '@temporalio/common';
import type { DecisionReceipt } from '../../contract/approvals.ts';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { Content } from '../../events/content.ts';
import { callKeyOfRequest } from '../../protocol/gate.ts';
import type { MessageReceipt, SendMessage } from '../../protocol/message.ts';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import type { Decided } from '../approvals/approvals.ts';
import { type Addressee, afterEnd, afterRefusal, type Said } from '../approvals/decide.ts';
import { answeredRequest } from '../approvals/find-request.ts';
import { aboutWorkers, askOrRefused } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { DecisionRefused, InvalidTurn, RequestNotFound } from '../client-errors.ts';
import type { SentTurn } from '../turns/await-result.ts';
import { openRun } from '../turns/open-run.ts';
import { rootInvocationOf } from '../turns/root-invocation.ts';
import type { TurnNames } from '../turns/turn-names.ts';
import { waitingTurn } from '../turns/waiting-turn.ts';
import { isAccepted, rejected } from './deliver.ts';
import type { Receipt } from './message-receipt.ts';
import type { OutgoingTurn } from './outgoing-turn.ts';
import { isSameReply, RESERVED_NAMES, type ReplyPart, replyParts } from './reply-parts.ts';

type Explained = Pick<Said, 'method' | 'isSame'>;

const METHOD = 'sendMessage';
const MOST_TRIES = 5;

/** The turn that waits for what was sent, and what became of that. */
export interface AnsweredTurn {
  turn: SentTurn;
  receipt: Receipt;
}

/** A reply with its request, as the store had it. */
interface Reply {
  part: ReplyPart;
  row: ApprovalRow | undefined;
}

/**
 * Gives a message of nothing but answers to requests to the turn that waits for them; it never starts one.
 *
 * @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn
 */
export async function sendReplies(context: ClientContext, outgoing: OutgoingTurn): Promise<AnsweredTurn> {
  const { names, message } = outgoing;
  if (message?.message === undefined || typeof message.message === 'string' || message.stored !== undefined) {
    throw new InvalidTurn(`${METHOD}: message: what answers requests is too large to travel: send less`);
  }
  const replies = await Promise.all(
    replyParts(message.message).map(async (part) => ({
      part,
      row: await answeredRequest(context.store, names.session, part.id),
    })),
  );
  if (context.store !== undefined) checkKnown(names, replies);
  // An answer is for the turn that waits, also while another one runs.
  const { policy: _policy, ...sent } = message;
  const payload = { ...sent, message: withReservedNames(message.message, replies) };
  const receipt = await deliverReplies(context, names, payload, replies);
  const of = await rootInvocationOf(context, names, invocationOf(names, replies, receipt));
  const turn = await waitingTurn(context, names, of);
  return { turn, receipt };
}

/** @throws RequestNotFound for the id of a request that the session has never made. */
function checkKnown({ workflowId }: TurnNames, replies: readonly Reply[]): void {
  for (const { part, row } of replies) {
    if (row !== undefined || part.id === undefined || callKeyOfRequest(part.id) === undefined) continue;
    throw new RequestNotFound(
      `${METHOD}: message.parts[${part.index}]: there is no request ${part.id} in session ${workflowId}`,
    );
  }
}

/** The reserved name tells an answer by a request's id from a response to a call. */
function withReservedNames(message: Content, replies: readonly Reply[]): Content {
  const parts = (message.parts ?? []).map((part, index) => {
    const reply = replies.find((each) => each.part.index === index);
    const kind = reply?.part.kind ?? reply?.row?.kind;
    if (part.functionResponse === undefined || kind === undefined) return part;
    return { ...part, functionResponse: { ...part.functionResponse, name: RESERVED_NAMES[kind] } };
  });
  return { ...message, parts };
}

async function deliverReplies(
  context: ClientContext,
  names: TurnNames,
  payload: SendMessage,
  replies: readonly Reply[],
): Promise<Receipt> {
  const { workflowId } = names;
  const deadline = Date.now() + ANSWER_TIMEOUT;
  for (let tried = 0; tried < MOST_TRIES; tried++) {
    const asked = await askOrRefused<MessageReceipt>(context, workflowId, {
      update: SEND_MESSAGE,
      payload,
      deadline,
    });
    if (asked.kind === 'answer') return await taken(context, names, replies, asked.value);
    if (asked.kind === 'refused') {
      return await ended(context, names, replies, (to, said) => afterRefusal(context, to, said, asked));
    }
    const run = await openRun(context.temporal, workflowId);
    if (run === undefined) break;
    if (asked.kind === 'closed') continue;
    try {
      await context.temporal.workflow.getHandle(workflowId).signal(SEND_MESSAGE, payload);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) continue;
      throw error;
    }
    return { status: 'accepted', confirmed: false, reason: await aboutWorkers(context, run.taskQueue) };
  }
  return await ended(context, names, replies, (to, said) => afterEnd(context, to, said));
}

/** @throws DecisionRefused where nothing of it counts. */
async function taken(
  context: ClientContext,
  names: TurnNames,
  replies: readonly Reply[],
  receipt: MessageReceipt,
): Promise<Receipt> {
  const told = receipt.replies ?? [];
  const refused = told.filter(({ status }) => status === 'refused');
  const [first] = refused;
  if (first !== undefined && refused.length === told.length) {
    const reply = replies.find(({ part }) => part.id === first.requestId) ?? replies[0];
    // An ended job or request says more of itself than the turn does.
    const row = reply?.row && (await context.store?.approvals.find(reply.row.requestId));
    if (reply !== undefined && row !== undefined && row.status !== 'pending') {
      return await ended(context, names, [reply], (to, said) => afterEnd(context, to, said));
    }
    throw new DecisionRefused(`${METHOD}: ${first.requestId}: ${first.reason ?? 'it does not count'}`, {
      details: { receipt: first },
    });
  }
  if (!isAccepted(receipt)) throw rejected(names.workflowId, receipt);
  return { ...receipt, confirmed: true };
}

/** Every reply must have been given before; else the first that was not says why it does not count. */
async function ended(
  context: ClientContext,
  names: TurnNames,
  replies: readonly Reply[],
  explain: (to: Addressee, said: Explained) => Promise<Decided>,
): Promise<Receipt> {
  const { workflowId, messageId, invocationId } = names;
  const receipts: DecisionReceipt[] = [];
  for (const { part, row } of replies) {
    const named = part.id === undefined ? {} : { requestId: part.id };
    const to = { workflowId: row?.workflowId ?? workflowId, named, row };
    const isSame = (now: ApprovalRow) => isSameReply(part, now);
    const told = await explain(to, { method: METHOD, isSame });
    if (told.confirmed) receipts.push(told);
  }
  const row = replies[0]?.row;
  const of = row === undefined ? invocationId : await rootInvocationOf(context, names, row.invocationId);
  const v = PROTOCOL_VERSION;
  return { v, messageId, invocationId: of, status: 'finished', replies: receipts, confirmed: true };
}

/** The invocation that the requests are of, in the place of the message's own, which never begins. */
function invocationOf(names: TurnNames, replies: readonly Reply[], receipt: Receipt): string {
  const told = 'invocationId' in receipt ? receipt.invocationId : undefined;
  return (
    replies.find(({ row }) => row !== undefined)?.row?.invocationId ??
    told ??
    runKeyOf(replies[0]?.part.id) ??
    names.invocationId
  );
}

function runKeyOf(requestId: string | undefined): string | undefined {
  const callKey = requestId === undefined ? undefined : callKeyOfRequest(requestId);
  return callKey?.replace(/\.\d+\.\d+$/, '');
}
