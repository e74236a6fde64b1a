import type { ShownRequest } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../store/approvals/approval-store.ts';
import { DecisionRefused, StoreNeeded } from '../client-errors.ts';

/**
 * A session that is deleted and made again repeats the ids of its requests.
 *
 * @throws DecisionRefused where the request is not the one that was shown.
 * @throws StoreNeeded where nothing is known of it.
 */
export function checkIsShown(
  row: ApprovalRow | undefined,
  shown: ShownRequest | undefined,
  method: string,
): void {
  if (shown === undefined) return;
  if (row === undefined) {
    throw new StoreNeeded(
      `${method}: shown: what is asked now stands in the store: give HoldfastClient the option \`store\``,
    );
  }
  if (row.session === shown.session && row.argsDigest === shown.argsDigest) return;
  throw new DecisionRefused(
    `${method}: ${row.requestId}: it is not what was shown: another request has its id, or other arguments; look at it again`,
  );
}
