import type { Content } from '../events/content.ts';
import type { SessionNames } from '../store/store.ts';
import type { ClientContext } from './client-context.ts';
import { MOST_LOOKED_AT } from './find-request.ts';
import { RESERVED_NAMES, replyParts } from './reply-parts.ts';

/**
 * A message whose responses to calls that wait for people are answers to what those calls ask: the turn that waits takes them as such,
 * so that no turn of their own may begin with them, and no secret may travel in them.
 */
export async function namedReplies(
  { store }: ClientContext,
  session: SessionNames,
  message: Content,
): Promise<Content> {
  if (store === undefined) return message;
  const { parts = [] } = message;
  const replies = new Set(replyParts(message).map(({ index }) => index));
  const isOfCall = (index: number) => parts[index]?.functionResponse?.id !== undefined && !replies.has(index);
  if (!parts.some((_part, index) => isOfCall(index))) return message;
  const pending = await store.listApprovals({ ...session, limit: MOST_LOOKED_AT });
  const named = parts.map((part, index) => {
    if (!isOfCall(index)) return part;
    const { functionResponse } = part;
    const [row, ...others] = pending.filter(({ callId }) => callId === functionResponse?.id);
    if (row === undefined || others.length > 0) return part;
    const { requestId: id, kind } = row;
    return { ...part, functionResponse: { ...functionResponse, id, name: RESERVED_NAMES[kind] } };
  });
  return { ...message, parts: named };
}
