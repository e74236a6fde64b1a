import { nextCommands } from '../../approvals/next-commands.ts';
import { ownQuestion } from '../../approvals/own-question.ts';
import { MOST_LISTED, REQUEST_STATUSES } from '../../contract/lists.ts';
import type { ApprovalRow, GateKind } from '../../contract/requests.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import { assertKnownApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';
import { namedRequest, type RequestNaming, requestFilter } from './named-request.ts';
import { requestLines, untilText } from './request-text.ts';

interface ListApprovalsOptions extends RequestNaming {
  limit: number;
  kind?: GateKind;
  /** Those that have ended, too. */
  all?: boolean;
}

/** `holdfast approvals list`: requests that wait for people, the oldest first. */
export async function listApprovals(
  options: InFolder<ListApprovalsOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { approvals }, apps }) => {
    const { limit, kind, all } = options;
    const list = {
      ...requestFilter(options),
      ...defined({ kind, status: all ? REQUEST_STATUSES : undefined }),
      limit: Math.min(limit + 1, MOST_LISTED),
    };
    const found = await withProgress(output, 'reading requests', approvals.list(list));
    const shown = found.slice(0, limit);
    if (options.json) return output.json({ approvals: shown });
    if (shown.length === 0) await assertKnownApp(options.app, apps);
    if (shown.length === 0) return output.note(all ? 'no requests' : 'nothing waits for a person');
    for (const line of tableLines(COLUMNS, shown.map(requestCells))) output.line(line);
    if (found.length > shown.length) output.note(`the oldest ${limit}; more with --limit`);
    else output.note('holdfast approvals show REQUEST tells all of one');
  });
}

const COLUMNS = ['REQUEST', 'KIND', 'STATUS', 'SINCE', 'EXPIRES', 'VOTES', 'SESSION', 'TOOL', 'HINT'];

/** A request in the table. */
export function requestCells(row: ApprovalRow): string[] {
  const { requestId, kind, status, since, until, votes, terms, app, userId, sessionId, tool } = row;
  const quorum = terms.quorum ?? 1;
  const approvals = votes.filter(({ confirmed }) => confirmed).length;
  const isPending = status === 'pending';
  return [
    requestId,
    kind,
    status,
    ago(since),
    isPending && until !== undefined ? untilText(until) : '',
    isPending && quorum > 1 ? `${approvals} of ${quorum}` : '',
    [app, userId, sessionId].map((part) => visibleExcerpt(part, 40)).join('/'),
    visibleExcerpt(tool, 40),
    visibleExcerpt(ownQuestion(row), 60),
  ];
}

/** `holdfast approvals show`: a request's question, its approvers, and its end. */
export async function showApproval(
  argument: string,
  options: InFolder<RequestNaming>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { approvals } }) => {
    const naming = namedRequest(argument, options, approvals);
    const row = await withProgress(output, 'reading the request', naming);
    if (options.json) return output.json(row);
    const [head = '', ...lines] = requestLines(row);
    output.line(output.paint('bold', head));
    for (const line of lines) output.line(line);
    if (row.status !== 'pending') return;
    output.line('  next:');
    for (const command of nextCommands(row, options.folder)) output.line(`    ${command}`);
  });
}
