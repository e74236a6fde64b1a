import { ownQuestion } from '../../approvals/own-question.ts';
import { MOST_LISTED, REQUEST_STATUSES } from '../../contract/lists.ts';
import type { ApprovalRow, GateKind } from '../../contract/requests.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { assertKnownApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';
import { type RequestNaming, requestFilter } from './named-request.ts';
import { untilText } from './request-text.ts';

export interface ListApprovalsOptions extends RequestNaming {
  limit: number;
  kind?: GateKind;
  /** Those that have ended, too. */
  all?: boolean;
  json?: boolean;
}

/** `holdfast approvals list`: requests that wait for people, the oldest first. */
export async function listApprovals(
  options: ListApprovalsOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, limit, kind, all } = options;
  const filter = requestFilter(options);
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const list = {
      ...filter,
      ...(kind === undefined ? {} : { kind }),
      limit: Math.min(limit + 1, MOST_LISTED),
      ...(all ? { status: REQUEST_STATUSES } : {}),
    };
    const found = await withProgress(output, 'reading requests', connected.approvals.list(list));
    const shown = found.slice(0, limit);
    if (options.json) return output.json({ approvals: shown });
    if (shown.length === 0) await assertKnownApp(options.app, connected.apps);
    if (shown.length === 0) return output.note(all ? 'no requests' : 'nothing waits for a person');
    for (const line of tableLines(COLUMNS, shown.map(requestCells))) output.line(line);
    if (found.length > shown.length) output.note(`the oldest ${limit}; more with --limit`);
    else output.note('holdfast approvals show REQUEST tells all of one');
  } finally {
    await connected.close();
  }
}

const COLUMNS = [
  { title: 'REQUEST' },
  { title: 'KIND' },
  { title: 'STATUS' },
  { title: 'SINCE' },
  { title: 'EXPIRES' },
  { title: 'VOTES' },
  { title: 'SESSION' },
  { title: 'TOOL' },
  { title: 'HINT' },
];

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
