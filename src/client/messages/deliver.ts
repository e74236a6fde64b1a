import {
  defineSearchAttributeKey,
  type Priority,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { fairnessKeyOf, turnSummary } from '../../protocol/identity.ts';
import type { MessageReceipt, SendMessage } from '../../protocol/message.ts';
import { AGENT_TURN, SEND_MESSAGE, searchAttributeValues } from '../../protocol/names.ts';
import type { AgentTurnStart } from '../../protocol/turn.ts';
import { aboutWorkers, ask } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { MessageRejected, NoAnswer } from '../client-errors.ts';
import { openRun } from '../turns/open-run.ts';
import { storedTurn } from '../turns/stored-turn.ts';
import type { TurnNames } from '../turns/turn-names.ts';
import type { OutgoingTurn } from './outgoing-turn.ts';

const MOST_TRIES = 5;

/** How a message came to its run. */
export type Disposition = 'started' | 'attached' | 'sent';

export interface Delivery {
  disposition: Disposition;
  /** The run that the message was given to. */
  runId: string;
  taskQueue: string;
}

/**
 * Gives a message to its session: starts a run with it, or signals the one that runs. It is in a history when this returns,
 * also with no worker up.
 *
 * @throws MessageRejected, NoAnswer with the policy `reject` only.
 */
export async function deliver(context: ClientContext, turn: OutgoingTurn): Promise<Delivery> {
  const { workflowId, invocationId } = turn.names;
  for (let tried = 0; tried < MOST_TRIES; tried++) {
    const started = await startRun(context, turn);
    if (started !== undefined) return started;
    const run = await openRun(context.temporal, workflowId);
    // It has ended in between: its id is free again.
    if (run === undefined) continue;
    const { runId, taskQueue } = run;
    if (run.memo?.invocationId === invocationId) return { disposition: 'attached', runId, taskQueue };
    if (turn.message?.policy !== 'reject') return await signalRun(context, turn, { runId, taskQueue });
    if (await isTaken(context, turn.names, turn.message, taskQueue)) {
      return { disposition: 'attached', runId, taskQueue };
    }
  }
  if (turn.message?.policy !== 'reject') return await signalRun(context, turn);
  throw new MessageRejected(
    `session ${workflowId} begins turns faster than this one could: send the message again, or let it wait by the policy 'enqueue'`,
  );
}

/** Starts a run; undefined where one is open. */
export async function startRun(context: ClientContext, turn: OutgoingTurn): Promise<Delivery | undefined> {
  try {
    const { firstExecutionRunId } = await context.temporal.workflow.start(
      AGENT_TURN,
      startOptions(context, turn.names, turn.start),
    );
    return { disposition: 'started', runId: firstExecutionRunId, taskQueue: context.taskQueue };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/** Signals the open run; starts one where there is none any more, so that a run that ends just then is no loss. */
async function signalRun(
  context: ClientContext,
  { names, start, message }: OutgoingTurn,
  known?: Pick<Delivery, 'runId' | 'taskQueue'>,
): Promise<Delivery> {
  const { signaledRunId: runId } = await context.temporal.workflow.signalWithStart(AGENT_TURN, {
    ...startOptions(context, names, start),
    workflowIdConflictPolicy: 'USE_EXISTING',
    signal: SEND_MESSAGE,
    signalArgs: [message],
  });
  const taskQueue = known?.runId === runId ? known.taskQueue : context.taskQueue;
  return { disposition: 'sent', runId, taskQueue };
}

/**
 * Sends a message again that was accepted and whose run has closed before its turn. Messages that were accepted before it
 * are answered before it: the run begins with the one that waits longest.
 */
export async function sendAgain(context: ClientContext, turn: OutgoingTurn): Promise<Delivery> {
  const { session, invocationId } = turn.names;
  const waiting = (await context.store?.messages.readInbox(session))?.find(
    ({ status }) => status === 'waiting',
  );
  if (waiting === undefined || waiting.invocationId === invocationId) return await signalRun(context, turn);
  const names = { ...turn.names, messageId: waiting.messageId, invocationId: waiting.invocationId };
  return await signalRun(context, { ...turn, names, start: storedTurn(names, waiting).start });
}

/** Whether the run has this message; asks by an update, since what is refused must not stay in a history. */
async function isTaken(
  context: ClientContext,
  { workflowId }: TurnNames,
  payload: SendMessage,
  taskQueue: string,
): Promise<boolean> {
  const deadline = Date.now() + ANSWER_TIMEOUT;
  const asked = await ask<MessageReceipt>(context, workflowId, { update: SEND_MESSAGE, payload, deadline });
  if (asked.kind === 'closed') return false;
  if (asked.kind === 'silent') {
    const workers = await aboutWorkers(context, taskQueue);
    throw new NoAnswer(
      `session ${workflowId} is answering another message, and what it says to this one is not known: ${workers}`,
    );
  }
  if (isAccepted(asked.value)) return true;
  throw rejected(workflowId, asked.value);
}

export function isAccepted({ status }: MessageReceipt): boolean {
  return status === 'running' || status === 'queued' || status === 'finished';
}

export function rejected(workflowId: string, receipt: MessageReceipt): MessageRejected {
  const { status, reason } = receipt;
  return new MessageRejected(
    `session ${workflowId} has not taken the message: ${status}${reason === undefined ? '' : `: ${reason}`}`,
    { details: { receipt } },
  );
}

function startOptions(context: ClientContext, names: TurnNames, start: AgentTurnStart) {
  const { workflowId, invocationId, messageId } = names;
  return {
    workflowId,
    taskQueue: context.taskQueue,
    args: [start],
    memo: { invocationId, messageId },
    staticSummary: turnSummary(start),
    priority: priorityOf(start),
    ...(context.searchAttributes ? { typedSearchAttributes: searchAttributesOf(start) } : {}),
  };
}

/** As that of the activities: users of an app have equal shares of its workers. */
function priorityOf({ app, userId, priority }: AgentTurnStart): Priority {
  const fairnessKey = fairnessKeyOf(app, userId);
  return { fairnessKey, ...(priority === undefined ? {} : { priorityKey: priority }) };
}

function searchAttributesOf(start: AgentTurnStart) {
  return Object.entries(searchAttributeValues(start)).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, 'KEYWORD'),
    value,
  }));
}
