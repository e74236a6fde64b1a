import type { RequestStatus } from '../protocol/gate.ts';
import { approvalRow } from './approval-row.ts';
import type { ApprovalRow, ListApprovals } from './approval-store.ts';
import type { Database } from './database.ts';
import { storableText } from './json-text.ts';
import { sessionKeys } from './session-key.ts';
import { rootOf, tree } from './session-tree.ts';
import { checkWhole } from './whole-number.ts';

const DEFAULT_LIMIT = 100;
const MOST_ROWS = 1_000;

const PENDING: readonly RequestStatus[] = ['pending'];

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
  { app, userId, sessionId, rootWorkflowId, order, status = PENDING, ...page }: ListApprovals,
): Promise<ApprovalRow[]> {
  const { limit = DEFAULT_LIMIT, after } = page;
  const isNewest = order === 'newest';
  checkWhole('limit', limit);
  if (status.length === 0) return [];
  let query = approvalsOf(database);
  if (app !== undefined && userId !== undefined && sessionId !== undefined) {
    query = query.where('a.session_id', 'in', tree(database, sessionKeys({ app, userId, sessionId }).name));
  } else {
    if (app !== undefined && userId !== undefined) {
      query = query.where('a.user_key', '=', sessionKeys({ app, userId, sessionId: '' }).user);
    } else if (app !== undefined) {
      query = query.where('a.app_key', '=', sessionKeys({ app, userId: '', sessionId: '' }).app);
    } else if (userId !== undefined) {
      query = query.where('s.user_id', '=', storableText(userId));
    }
    if (sessionId !== undefined) query = query.where('s.name', '=', storableText(sessionId));
  }
  if (rootWorkflowId !== undefined) {
    query = query.where('a.root_workflow_id', '=', storableText(rootWorkflowId));
  }
  query =
    status.length === 1
      ? query.where('a.status', '=', status[0] as RequestStatus)
      : query.where('a.status', 'in', status);
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
  const ordered = query.orderBy('a.since', direction).orderBy('a.request_id', direction);
  const rows = await database.read(ordered.limit(Math.min(limit, MOST_ROWS)).compile());
  return rows.map(namedRow);
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
