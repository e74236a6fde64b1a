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
  { status, at, by, reason, args }: ToldEnding,
  transcriptUrl: ActivityDependencies['transcriptUrl'],
): EndedRequest {
  const edited = args === undefined ? undefined : shownArguments(row, withFixed(row, args));
  return {
    ...notifiedRequest(row, transcriptUrl),
    status,
    decidedAt: at,
    by: status === 'expired' || status === 'cancelled' ? [] : votersOf(row, status, by),
    ...(reason === undefined ? {} : { reason }),
    ...(isRecord(edited) ? { editedArgs: edited } : {}),
  };
}

/** Those who have approved before, and whoever made it enough. */
function votersOf({ votes }: ApprovalRow, status: ToldEnding['status'], last: Voter | undefined): Voter[] {
  const before = votes.filter(({ confirmed }) => status === 'approved' && confirmed).map(({ by }) => by);
  const voters = new Map([...before, ...(last === undefined ? [] : [last])].map((by) => [by.principal, by]));
  return [...voters.values()];
}
