import { MOST_LISTED } from '../../contract/lists.ts';
import type { Content } from '../../events/content.ts';
import type { ApprovalRow } from '../../store/approvals/approval-store.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { ClientContext } from '../client-context.ts';
import { isSameReply, RESERVED_NAMES, replyParts } from './reply-parts.ts';

const ANSWERED = ['approved', 'rejected', 'answered'] as const;

/**
 * A message whose responses to calls that wait for people are answers to what those calls ask: the turn that waits takes them as such,
 * so that no turn of their own may begin with them, and no secret may travel in them. So is what such a request was answered with
 * before, which is sent again.
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
  const pending = await store.approvals.list({ ...session, limit: MOST_LISTED });
  const isWaitedFor = (id: string | undefined) => pending.some(({ callId }) => callId === id);
  const isAnswered = parts.some(
    ({ functionResponse }, index) => isOfCall(index) && !isWaitedFor(functionResponse?.id),
  );
  const answered = isAnswered
    ? await store.approvals.list({ ...session, status: ANSWERED, order: 'newest', limit: MOST_LISTED })
    : [];
  const named = parts.map((part, index) => {
    if (!isOfCall(index)) return part;
    const { functionResponse } = part;
    const ofCall = ({ callId }: ApprovalRow) => callId === functionResponse?.id;
    const [waiting, ...others] = pending.filter(ofCall);
    const latest = waiting ?? answered.find(ofCall);
    const said = { index, id: undefined, kind: undefined, response: functionResponse?.response ?? {} };
    const row =
      latest !== undefined && (latest === waiting || isSameReply(said, latest)) ? latest : undefined;
    if (row === undefined || others.length > 0) return part;
    const { requestId: id, kind } = row;
    return { ...part, functionResponse: { ...functionResponse, id, name: RESERVED_NAMES[kind] } };
  });
  return { ...message, parts: named };
}
