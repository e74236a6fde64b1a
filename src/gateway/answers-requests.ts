import type { Approvals } from '../client/approvals.ts';
import { MOST_LOOKED_AT } from '../client/find-request.ts';
import { replyParts } from '../client/reply-parts.ts';
import type { Content } from '../events/content.ts';
import type { SessionNames } from '../store/store.ts';

/** Whether parts of a message may answer requests to people: by their names, by requests' ids, or by the id of a call that waits. */
export async function answersRequests(
  approvals: Pick<Approvals, 'list'>,
  names: SessionNames,
  message: string | Content,
): Promise<boolean> {
  if (typeof message === 'string') return false;
  if (replyParts(message).length > 0) return true;
  const ids = new Set((message.parts ?? []).map(({ functionResponse }) => functionResponse?.id));
  ids.delete(undefined);
  if (ids.size === 0) return false;
  const pending = await approvals.list({ ...names, limit: MOST_LOOKED_AT });
  return pending.some(({ callId }) => ids.has(callId));
}
