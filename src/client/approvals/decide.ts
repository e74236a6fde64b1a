import { WorkflowNotFoundError } from '@temporalio/common';
import type { DecisionReceipt, RequestName, ShownRequest } from '../../contract/approvals.ts';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { PROVIDE_CREDENTIAL } from '../../protocol/names.ts';
import { aboutWorkers, askOrRefused, type Refusal } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import {
  AmbiguousRequest,
  DecisionRefused,
  InvalidTurn,
  RequestNotFound,
  RequestNotPending,
} from '../client-errors.ts';
import { storeOf } from '../stored-context.ts';
import { withOutageTold } from '../temporal-outage.ts';
import { openRun } from '../turns/open-run.ts';
import type { Decided } from './approvals.ts';
import { requestNotFound } from './find-request.ts';

const MOST_TRIES = 5;

/** A place where a decision goes, and the request as the store had it: a reply by a message may name none. */
export interface Addressee {
  workflowId: string;
  named: RequestName;
  row: ApprovalRow | undefined;
}

/** A person's answer to a request. */
export interface Said {
  method: string;
  /** Name of update and signal. */
  order: string;
  /** The part of their payload that names no request. */
  decision: object;
  /** The same as it may travel to a request that is known. */
  sealed?: (row: ApprovalRow) => object | Promise<object>;
  /** Whether a request that has ended was answered by the same. */
  isSame: (ended: ApprovalRow) => boolean;
  timeout: number | undefined;
  /** The request as it was shown. */
  shown: ShownRequest | undefined;
}

/**
 * Gives a decision to the workflow that waits for it: asks it by an update, and signals the same where no worker answers. Both may
 * arrive, and count once.
 *
 * @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn
 */
export async function decide(context: ClientContext, requestId: string, said: Said): Promise<Decided> {
  return await withOutageTold(() => decided(context, requestId, said));
}

async function decided(context: ClientContext, requestId: string, said: Said): Promise<Decided> {
  const { method, order, timeout } = said;
  const row = await storeOf(context, method).approvals.find(requestId);
  if (row === undefined) throw requestNotFound(method, { names: undefined, named: { requestId } });
  const to = { workflowId: row.workflowId, named: { requestId }, row };
  checkIsShown(row, said.shown, method);
  const decision = (await said.sealed?.(row)) ?? said.decision;
  const payload = { v: PROTOCOL_VERSION, requestId, ...decision, ...sessionOf(said) };
  const deadline = Date.now() + (timeout ?? ANSWER_TIMEOUT);
  for (let tried = 0; tried < MOST_TRIES; tried++) {
    const asked = await askOrRefused<DecisionReceipt>(context, to.workflowId, {
      update: order,
      payload,
      deadline,
    });
    if (asked.kind === 'answer') return counted(method, asked.value);
    if (asked.kind === 'refused') return await afterRefusal(context, to, said, asked);
    const run = await openRun(context.temporal, to.workflowId);
    if (run === undefined) return await afterEnd(context, to, said);
    await checkIsStillShown(context, requestId, said);
    // The run before has ended, and this one goes on with what it waited for.
    if (asked.kind === 'closed') continue;
    try {
      // A server that restarts forgets an update which no worker has taken.
      await context.temporal.workflow.getHandle(to.workflowId).signal(order, payload);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) continue;
      throw error;
    }
    return { confirmed: false, reason: await aboutWorkers(context, run.taskQueue) };
  }
  return await afterEnd(context, to, said);
}

/** Of a request for a credential workers take nothing but the reference. */
function sessionOf({ shown, order }: Said): { session?: string } {
  return shown === undefined || order === PROVIDE_CREDENTIAL ? {} : { session: shown.session };
}

/**
 * A session that is deleted and made again repeats the ids of its requests.
 *
 * @throws DecisionRefused where the request is not the one that was shown.
 */
function checkIsShown(row: ApprovalRow, shown: ShownRequest | undefined, method: string): void {
  if (shown === undefined) return;
  if (row.session === shown.session && row.argsDigest === shown.argsDigest) return;
  throw new DecisionRefused(
    `${method}: ${row.requestId}: it is not what was shown: another request has its id, or other arguments; look at it again`,
  );
}

/** Meanwhile the session may have been deleted, and made again. */
async function checkIsStillShown(context: ClientContext, requestId: string, { shown, method }: Said) {
  if (shown === undefined) return;
  const now = await storeOf(context, method).approvals.find(requestId);
  if (now === undefined) {
    throw new RequestNotFound(`${method}: ${requestId}: its session was deleted meanwhile`);
  }
  checkIsShown(now, shown, method);
}

/** @throws DecisionRefused */
function counted(method: string, receipt: DecisionReceipt): Decided {
  const { status, requestId, reason = 'it does not count' } = receipt;
  if (status !== 'refused') return { ...receipt, status, confirmed: true };
  throw new DecisionRefused(`${method}: ${requestId}: ${reason}`, { details: { receipt } });
}

/** @throws what the workflow has said of it. */
export async function afterRefusal(
  context: ClientContext,
  to: Addressee,
  said: Pick<Said, 'method' | 'isSame'>,
  { type, message, details }: Refusal,
): Promise<Decided> {
  const { method } = said;
  switch (type) {
    case 'NotPending':
    case 'AlreadyAnswered':
    case 'RequestExpired':
      return await afterEnd(context, to, said, message);
    case 'AmbiguousRequest':
      throw new AmbiguousRequest(`${method}: ${message}`, { details: { requestIds: requestIdsOf(details) } });
    case 'InvalidDecision':
    case 'RawSecret':
      throw new InvalidTurn(`${method}: ${message}`);
    default:
      throw new DecisionRefused(`${method}: ${message}`);
  }
}

/** Of a request that nobody waits for any more, what the store has of it. */
export async function afterEnd(
  { store }: ClientContext,
  { workflowId, row: known, named }: Addressee,
  { method, isSame }: Pick<Said, 'method' | 'isSame'>,
  told?: string,
): Promise<Decided> {
  const now = known && (await store?.approvals.find(known.requestId));
  const row = now?.session === known?.session ? now : known;
  if (row === undefined || row.status === 'pending') {
    const requestId = row?.requestId ?? named.requestId ?? 'the request';
    const why = told ?? `no turn runs in ${workflowId} that waits for it`;
    throw new RequestNotPending(`${method}: ${requestId} is not pending: ${why}`);
  }
  const { requestId, callKey, status, decidedAt: at } = row;
  if (isSame(row)) return { v: PROTOCOL_VERSION, requestId, callKey, status: 'duplicate', confirmed: true };
  const when = at === undefined ? '' : ` at ${new Date(at).toISOString()}`;
  throw new RequestNotPending(`${method}: ${requestId} was ${status}${byWhom(row)}${when}`, {
    details: { request: { requestId, status, ...(at === undefined ? {} : { at }) } },
  });
}

function byWhom({ status, votes }: ApprovalRow): string {
  if (status !== 'approved' && status !== 'rejected') return '';
  const by = votes.filter(({ confirmed }) => confirmed === (status === 'approved'));
  const names = [...new Set(by.map((vote) => vote.by.principal))];
  return names.length === 0 ? '' : ` by ${names.join(', ')}`;
}

function requestIdsOf(details: unknown): readonly string[] {
  if (typeof details !== 'object' || details === null || !('requestIds' in details)) return [];
  return Array.isArray(details.requestIds) ? details.requestIds.map(String) : [];
}
