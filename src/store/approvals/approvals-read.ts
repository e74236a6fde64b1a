import { sql } from 'kysely';
import type { RequestStatus } from '../../protocol/gate.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { checkWhole } from '../engine/whole-number.ts';
import { ofSessions, rootOf } from '../sessions/session-tree.ts';
import { approvalRow } from './approval-row.ts';
import type { ApprovalRow, ListApprovals } from './approval-store.ts';

const DEFAULT_LIMIT = 100;
const MOST_ROWS = 1_000;

const PENDING: readonly RequestStatus[] = ['pending'];
const ENDED: readonly RequestStatus[] = ['approved', 'rejected', 'answered', 'expired', 'cancelled'];

export async function findRequest(
  database: Database,
  session: string,
  requestId: string,
): Promise<ApprovalRow | undefined> {
  const [row] = await database.read(
    approvalsOf(database)
      .where('a.request_id', '=', storableText(requestId))
      .where('a.session_id', '=', storableText(session))
      .compile(),
  );
  return row && namedRow(row);
}

export async function findApproval(database: Database, requestId: string): Promise<ApprovalRow | undefined> {
  const [row] = await database.read(
    approvalsOf(database).where('a.request_id', '=', storableText(requestId)).limit(1).compile(),
  );
  return row && namedRow(row);
}

/** @throws TypeError where `limit` is no whole number */
export async function listApprovals(
  database: Database,
  { app, userId, sessionId, rootWorkflowId, kind, order, status = PENDING, ...place }: ListApprovals,
): Promise<ApprovalRow[]> {
  const { limit = DEFAULT_LIMIT, after } = place;
  const isNewest = order === 'newest';
  checkWhole('limit', limit);
  if (status.length === 0) return [];
  // The page first, then its names: else a planner may read all there is to sort it.
  let query = database.db.selectFrom('holdfast.approvals as a').selectAll('a');
  for (const isOfSession of ofSessions(database, 'a', { app, userId, sessionId })) {
    query = query.where(isOfSession);
  }
  if (rootWorkflowId !== undefined) {
    query = query.where('a.root_workflow_id', '=', storableText(rootWorkflowId));
  }
  if (kind !== undefined) query = query.where('a.kind', '=', kind);
  if (status.length === 1) query = query.where('a.status', '=', status[0] as RequestStatus);
  else if (ENDED.every((each) => status.includes(each)) && !status.includes('pending')) {
    // As the index of those that have ended says it.
    query = query.where('a.status', '<>', sql.lit('pending' as const));
  } else query = query.where('a.status', 'in', status);
  if (after !== undefined) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('a.since', 'a.request_id'),
        isNewest ? '<' : '>',
        tuple(String(after.since), storableText(after.requestId)),
      ),
    );
  }
  const direction = isNewest ? 'desc' : 'asc';
  const page = query
    .orderBy('a.since', direction)
    .orderBy('a.request_id', direction)
    .limit(Math.min(limit, MOST_ROWS));
  const named = database.db
    .selectFrom(page.as('a'))
    .innerJoin('holdfast.sessions as o', 'o.id', 'a.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .selectAll('a')
    .select(['s.app', 's.user_id', 's.name'])
    .orderBy('a.since', direction)
    .orderBy('a.request_id', direction);
  return (await database.read(named.compile())).map(namedRow);
}

function approvalsOf(database: Database) {
  return database.db
    .selectFrom('holdfast.approvals as a')
    .innerJoin('holdfast.sessions as o', 'o.id', 'a.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .selectAll('a')
    .select(['s.app', 's.user_id', 's.name']);
}

type NamedRow = Awaited<ReturnType<ReturnType<typeof approvalsOf>['executeTakeFirstOrThrow']>>;

function namedRow(row: NamedRow): ApprovalRow {
  return approvalRow(row, { app: row.app, userId: row.user_id, sessionId: row.name });
}
