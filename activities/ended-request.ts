import { withFixed } from '../src/approvals/edited-arguments.ts';
import type { EndedRequest } from '../src/approvals/notifier.ts';
import { shownArguments } from '../src/plugins/withheld.ts';
import type { ToldEnding, Voter } from '../src/protocol/gate.ts';
import { isRecord } from '../src/schema/kind-of.ts';
import type { ApprovalRow } from '../src/store/store.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { notifiedRequest } from './notified-request.ts';

/** A request that has ended, as people are told of it; its row may not know of the end yet. */
export function endedRequest(
  row: ApprovalRow,
  ending: ToldEnding,
  transcriptUrl: ActivityDependencies['transcriptUrl'],
): EndedRequest {
  const { status, at, reason = row.reason } = ending;
  const args = ending.args ?? row.editedArgs;
  const edited = args === undefined ? undefined : shownArguments(row, withFixed(row, args));
  return {
    ...notifiedRequest(row, transcriptUrl),
    status,
    decidedAt: row.decidedAt ?? at,
    by: votersOf(row, ending),
    ...(reason === undefined ? {} : { reason }),
    ...(isRecord(edited) ? { editedArgs: edited } : {}),
  };
}

/** Those who have approved before, and whoever made it enough; another workflow may have heard of the latter. */
function votersOf({ votes, history }: ApprovalRow, { status, by }: ToldEnding): Voter[] {
  if (status === 'expired' || status === 'cancelled') return [];
  const last = by ?? history.findLast(({ kind }) => kind === status)?.by;
  const before = votes.filter(({ confirmed }) => status === 'approved' && confirmed).map((vote) => vote.by);
  const all = last === undefined ? before : [...before, last];
  return [...new Map(all.map((voter) => [voter.principal, voter])).values()];
}
