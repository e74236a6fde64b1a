import type { Approvals } from '../../client/approvals/approvals.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { callKeyOfRequest, REQUEST_PREFIX } from '../../protocol/gate.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { assertText } from '../sessions/named-session.ts';

/** Options that name the app, user and session of requests or jobs; no default is assumed. */
export interface RequestNaming {
  app?: string;
  user?: string;
  session?: string;
}

export type RequestFilter = Partial<SessionNames>;

export function requestFilter({ app, user, session }: RequestNaming): RequestFilter {
  return defined({ app, userId: user, sessionId: session });
}

/**
 * The request that an argument names: by its own id, or by the key or id of its call, of which it is the only pending one.
 *
 * @throws CliError where there is none, or several.
 */
export async function namedRequest(
  argument: string,
  naming: RequestNaming,
  approvals: Pick<Approvals, 'list' | 'get'>,
): Promise<ApprovalRow> {
  assertText('the request', argument);
  const filter = requestFilter(naming);
  if (argument.startsWith(REQUEST_PREFIX)) {
    if (callKeyOfRequest(argument) === undefined) {
      throw new UsageError(
        `${visibleExcerpt(argument, 200)} is no request: expected ${REQUEST_PREFIX}<call key>.<n>, as holdfast approvals list shows it`,
      );
    }
    const row = await approvals.get({ requestId: argument });
    if (row !== undefined && fitsFilter(row, filter)) return row;
    throw new CliError(
      `there is no request ${visibleExcerpt(argument, 200)}${Object.keys(filter).length > 0 ? ' of that app, user and session' : ''}: see ` +
        'holdfast approvals list, with --all for those that have ended',
    );
  }
  const isKey = callKeyOfRequest(`${REQUEST_PREFIX}${argument}.1`) !== undefined;
  const pending = await approvals.list({ ...filter, limit: MOST_LISTED });
  const fitting = pending.filter(
    ({ callKey, callId }) => callId === argument || (isKey && callKey === argument),
  );
  const [row, ...others] = fitting;
  if (row === undefined) {
    throw new CliError(
      `no request of the call ${visibleExcerpt(argument, 200)} waits for an answer: see holdfast approvals list; one that has ended is ` +
        'named by its own id (holdfast approvals list --all)',
    );
  }
  if (others.length === 0) return row;
  throw new UsageError(
    `several requests of calls with this id wait: name one of ${fitting.map(({ requestId }) => requestId).join(', ')}`,
  );
}

export function fitsFilter(row: SessionNames, filter: RequestFilter): boolean {
  return Object.entries(filter).every(([name, value]) => row[name as keyof RequestFilter] === value);
}
