import type { Decided } from '../../client/approvals/approvals.ts';
import type { DecisionReceipt } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { CommandOutput } from '../command-output.ts';

/** Prints the receipt of an answer. */
export function tellReceipt(
  { requestId }: Pick<ApprovalRow, 'requestId'>,
  receipt: Decided,
  output: Pick<CommandOutput, 'line' | 'note'>,
): void {
  if (!receipt.confirmed) {
    output.line(`${requestId} is sent, and not confirmed yet`);
    output.note(
      `${receipt.reason}. The answer is kept, and counts as soon as a worker takes the turn up (holdfast run, dev or worker)`,
    );
    return;
  }
  output.line(`${requestId} ${statusWords(receipt)}`);
}

function statusWords({ status, approvals, quorum }: DecisionReceipt): string {
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
    default:
      return status;
  }
}
