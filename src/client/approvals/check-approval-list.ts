import type { GateKind, RequestStatus } from '../../protocol/gate.ts';
import type { ListApprovals } from '../../store/approvals/approval-store.ts';
import { InvalidTurn } from '../client-errors.ts';
import { checkText } from '../turns/turn-names.ts';

const STATUSES: readonly unknown[] = [
  'pending',
  'approved',
  'rejected',
  'answered',
  'expired',
  'cancelled',
] satisfies RequestStatus[];

const KINDS: readonly unknown[] = ['confirmation', 'credential', 'input'] satisfies GateKind[];

const MOST_LISTED = 1_000;

/** @throws InvalidTurn */
export function checkList({
  app,
  userId,
  sessionId,
  rootWorkflowId,
  kind,
  status,
  limit,
  order,
  after,
}: ListApprovals): void {
  const method = 'approvals.list';
  const given = Object.entries({ app, userId, sessionId, rootWorkflowId });
  checkText(Object.fromEntries(given.filter(([, value]) => value !== undefined)), method);
  if (status !== undefined && (!Array.isArray(status) || !status.every((one) => STATUSES.includes(one)))) {
    throw new InvalidTurn(`${method}: status: expected a list of ${STATUSES.join(', ')}`);
  }
  if (kind !== undefined && !KINDS.includes(kind)) {
    throw new InvalidTurn(`${method}: kind: expected one of ${KINDS.join(', ')}`);
  }
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST_LISTED)) {
    throw new InvalidTurn(`${method}: limit: expected a whole number from 1 to ${MOST_LISTED}`);
  }
  if (order !== undefined && order !== 'oldest' && order !== 'newest') {
    throw new InvalidTurn(`${method}: order: expected 'oldest' or 'newest'`);
  }
  if (after === undefined) return;
  if (!Number.isFinite(after.since)) {
    throw new InvalidTurn(`${method}: after.since: expected milliseconds since the epoch`);
  }
  checkText({ 'after.requestId': after.requestId }, method);
}
