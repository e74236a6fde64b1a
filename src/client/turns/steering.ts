import { randomUUID } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { LONGEST_NAME } from '../../contract/message-limits.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import {
  type CancelCall,
  cancelCall,
  type Interrupt,
  type STEERING,
  type TURNS,
} from '../../contract/turns.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import type { CancelReceipt, InterruptReceipt } from '../../protocol/message.ts';
import { CANCEL_CALL, INTERRUPT, STATUS_QUERY } from '../../protocol/names.ts';
import type { TurnStatus } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { aboutWorkers, ask, isOutOfTime } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn, NoAnswer, UnknownCall } from '../client-errors.ts';
import { withOutageTold } from '../temporal-outage.ts';
import { turnsBy } from './list-turns.ts';
import { openRun } from './open-run.ts';

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

/** Performs what steers turns, and lists them. */
export const steeringHandlers: Handlers<OperationsOf<typeof STEERING & typeof TURNS>, ClientContext> = {
  turns: async (list, context) => ({ turns: await withOutageTold(() => turnsBy(context, list)) }),
  status: async ({ timeout, ...names }, context) => ({
    status: (await withOutageTold(() => status(context, names, timeout))) ?? null,
  }),
  interrupt: async ({ app, userId, sessionId, reason, timeout, ...order }, context) => {
    const workflowId = workflowIdOf(app, userId, sessionId);
    const payload: Interrupt = { ...newOrder(), ...order, ...reasonOf(reason) };
    const steered = await steer<InterruptReceipt>(context, workflowId, INTERRUPT, payload, timeout);
    return steered ?? { v: PROTOCOL_VERSION, confirmed: true };
  },
  cancelCall: async ({ app, userId, sessionId, reason, timeout, ...order }, context) => {
    const { name } = cancelCall;
    if ((order.callKey === undefined) === (order.callId === undefined))
      throw new InvalidTurn(`${name}: expected either a callKey or a callId`);
    const workflowId = workflowIdOf(app, userId, sessionId);
    const payload: CancelCall = { ...newOrder(), ...order, ...reasonOf(reason) };
    const steered = await steer<CancelReceipt>(context, workflowId, CANCEL_CALL, payload, timeout);
    if (steered !== undefined) return steered;
    throw new UnknownCall(`${name}: no turn runs in session ${workflowId}`);
  },
};

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
  timeout = ANSWER_TIMEOUT,
): Promise<Confirmed<Receipt> | undefined> {
  return await withOutageTold(async () => {
    const deadline = Date.now() + timeout;
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
  });
}

/** The status of the turn that a session runs. @throws NoAnswer */
export async function status(
  context: ClientContext,
  { app, userId, sessionId }: SessionNames,
  timeout = ANSWER_TIMEOUT,
): Promise<TurnStatus | undefined> {
  const run = await openRun(context.temporal, workflowIdOf(app, userId, sessionId));
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
