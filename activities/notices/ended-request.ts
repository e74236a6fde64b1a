import { withFixed } from '../../src/approvals/edited-arguments.ts';
import type { EndedRequest } from '../../src/approvals/notifier.ts';
import { shownArguments } from '../../src/plugins/withheld.ts';
import type { Voter } from '../../src/protocol/gate.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import type { ApprovalRow } from '../../src/store/store.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { notifiedRequest } from './notified-request.ts';

/**
 * A request that has ended, as people are told of it: by what the store has recorded, since whoever may write to Temporal could tell
 * anything of it.
 *
 * @returns undefined for one that waits.
 */
export function endedRequest(
  row: ApprovalRow,
  transcriptUrl: ActivityDependencies['transcriptUrl'],
): EndedRequest | undefined {
  const { status, since, decidedAt = since, reason, editedArgs } = row;
  if (status === 'pending') return undefined;
  const edited = editedArgs === undefined ? undefined : shownArguments(row, withFixed(row, editedArgs));
  return {
    ...notifiedRequest(row, transcriptUrl),
    ...{ status, decidedAt, by: votersOf(row) },
    ...(reason === undefined ? {} : { reason }),
    ...(isRecord(edited) ? { editedArgs: edited } : {}),
  };
}

/** Those who have approved before, and whoever made it enough. */
function votersOf({ status, votes, history }: ApprovalRow): Voter[] {
  if (status === 'expired' || status === 'cancelled') return [];
  const last = history.findLast(({ kind }) => kind === status)?.by;
  const before = votes.filter(({ confirmed }) => status === 'approved' && confirmed).map((vote) => vote.by);
  const all = last === undefined ? before : [...before, last];
  return [...new Map(all.map((voter) => [voter.principal, voter])).values()];
}
