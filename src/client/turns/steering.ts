import { randomUUID } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { LONGEST_NAME } from '../../contract/message-limits.ts';
import type { CallToCancel, CancelCall, Interrupt, InterruptOptions } from '../../contract/turns.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import type { CancelReceipt, InterruptReceipt } from '../../protocol/message.ts';
import { CANCEL_CALL, INTERRUPT, STATUS_QUERY } from '../../protocol/names.ts';
import type { TurnStatus } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { aboutWorkers, ask, isOutOfTime } from '../ask-workflow.ts';
import { checkedTimeout } from '../checked-input.ts';
import type { ClientContext } from '../client-context.ts';
import { NoAnswer, UnknownCall } from '../client-errors.ts';
import { checkedCall, checkedInterrupt } from './checked-order.ts';
import { openRun } from './open-run.ts';
import { workflowIdOfSession } from './turn-names.ts';

/** How long a worker is waited for. */
export interface AnswerOptions {
  /** Milliseconds. Defaults to 5,000. */
  timeout?: number;
}

/** An order that no worker has answered: it is in the run's history, and counts as soon as a worker takes the run up. */
export interface Unconfirmed {
  confirmed: false;
  /** Says whether a worker polls the task queue. */
  reason: string;
}

/** The receipt of an order. */
export type Confirmed<Receipt> = (Receipt & { confirmed: true }) | Unconfirmed;

/** gRPC's FAILED_PRECONDITION: the server knows of no worker that could answer a query. */
const NO_POLLER = 9;

export async function cancelCall(
  context: ClientContext,
  names: SessionNames,
  call: CallToCancel,
): Promise<Confirmed<CancelReceipt>> {
  const { reason, ...named } = checkedCall(names, call);
  const { app, userId, sessionId, ...order } = named;
  const workflowId = workflowIdOf(app, userId, sessionId);
  const payload: CancelCall = { ...newOrder(), ...order, ...reasonOf(reason) };
  const steered = await steer<CancelReceipt>(context, workflowId, CANCEL_CALL, payload, call.timeout);
  if (steered !== undefined) return steered;
  throw new UnknownCall(`cancelCall: no turn runs in session ${workflowId}`);
}

export async function interrupt(
  context: ClientContext,
  names: SessionNames,
  options: InterruptOptions,
): Promise<Confirmed<InterruptReceipt>> {
  const { app, userId, sessionId, reason, ...order } = checkedInterrupt(names, options);
  const workflowId = workflowIdOf(app, userId, sessionId);
  const payload: Interrupt = { ...newOrder(), ...order, ...reasonOf(reason) };
  const steered = await steer<InterruptReceipt>(context, workflowId, INTERRUPT, payload, options.timeout);
  return steered ?? { v: PROTOCOL_VERSION, confirmed: true };
}

/** An order is sent a second way where nobody answers, and both may arrive. */
function newOrder(): { v: number; orderId: string } {
  return { v: PROTOCOL_VERSION, orderId: randomUUID() };
}

/** The beginning, which is more than the model is told: Temporal ends a run that is sent too much. */
function reasonOf(reason: string | undefined): { reason?: string } {
  return reason === undefined ? {} : { reason: reason.slice(0, LONGEST_NAME).toWellFormed() };
}

/** Undefined where no run is open. */
async function steer<Receipt extends object>(
  context: ClientContext,
  workflowId: string,
  name: string,
  payload: object,
  timeout: number | undefined,
): Promise<Confirmed<Receipt> | undefined> {
  const deadline = Date.now() + checkedTimeout(timeout, ANSWER_TIMEOUT);
  const asked = await ask<Receipt>(context, workflowId, { update: name, payload, deadline });
  if (asked.kind === 'answer') return { ...asked.value, confirmed: true };
  if (asked.kind === 'closed') return undefined;
  const run = await openRun(context.temporal, workflowId);
  if (run === undefined) return undefined;
  try {
    // A server that restarts forgets an update which no worker has taken.
    await context.temporal.workflow.getHandle(workflowId).signal(name, payload);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
  return { confirmed: false, reason: await aboutWorkers(context, run.taskQueue) };
}

export async function status(
  context: ClientContext,
  names: SessionNames,
  options: AnswerOptions,
): Promise<TurnStatus | undefined> {
  const timeout = checkedTimeout(options.timeout, ANSWER_TIMEOUT);
  const run = await openRun(context.temporal, workflowIdOfSession(names, 'status'));
  return run && (await queryStatus(context, run, timeout));
}

/** @throws NoAnswer */
export async function queryStatus(
  context: ClientContext,
  { workflowId, runId, taskQueue }: { workflowId: string; runId: string; taskQueue: string },
  timeout: number,
): Promise<TurnStatus | undefined> {
  const { temporal } = context;
  try {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    return await temporal.withDeadline(Date.now() + timeout, () => handle.query<TurnStatus>(STATUS_QUERY));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (!isOutOfTime(error) && !hasNoPoller(error)) throw error;
    const workers = await aboutWorkers(context, taskQueue);
    throw new NoAnswer(`the turn of session ${workflowId} has not said how it stands: ${workers}`, {
      cause: error,
    });
  }
}

function hasNoPoller(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(cause) && Number(cause.code) === NO_POLLER;
}
