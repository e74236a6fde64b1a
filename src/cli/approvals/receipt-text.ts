import type { Confirmed } from '../../client/turns/steering.ts';
import type { DecisionReceipt } from '../../protocol/gate.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { ApprovalRow } from '../../store/approvals/approval-store.ts';
import type { CommandOutput } from '../command-output.ts';

/** Prints the receipt of an answer. Returns the exit code: 1 if it doesn't count. */
export function tellReceipt(
  { requestId }: Pick<ApprovalRow, 'requestId'>,
  receipt: Confirmed<DecisionReceipt>,
  output: Pick<CommandOutput, 'line' | 'note'>,
): number {
  if (!receipt.confirmed) {
    output.line(`${requestId} is sent, and not confirmed yet`);
    output.note(
      `${receipt.reason}. The answer is kept, and counts as soon as a worker takes the turn up (holdfast run, dev or worker)`,
    );
    return 0;
  }
  output.line(`${requestId} ${statusWords(receipt)}`);
  return receipt.status === 'refused' ? 1 : 0;
}

function statusWords({ status, reason, approvals, quorum }: DecisionReceipt): string {
  const why = reason === undefined ? '' : `: ${visibleExcerpt(reason, 500)}`;
  const count =
    approvals === undefined || quorum === undefined ? '' : `: ${approvals} of ${quorum} approvals`;
  switch (status) {
    case 'counted':
      return `counts${count}; more are needed`;
    case 'withdrawn':
      return `withdrawn${count}`;
    case 'duplicate':
      return 'was answered so before; nothing has changed';
    case 'kept':
      return 'is not asked yet; the answer is kept for it';
    case 'forwarded':
      return 'is sent on to the agent that has asked';
    case 'refused':
      return `is as it was: the answer does not count${why}`;
    default:
      return status;
  }
}
