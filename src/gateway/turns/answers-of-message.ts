import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import { replyParts } from '../../client/messages/reply-parts.ts';
import type { Permission } from '../../contract/lists.ts';
import { JOB_STATUSES, MOST_LISTED } from '../../contract/lists.ts';
import { ownCallId } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { demand, subjectOf } from '../access/screen.ts';
import type { GatewayContext } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';

/**
 * A caller with `run` alone may not decide requests or end jobs by function responses. It may answer calls that no
 * worker runs, which nothing will ever wait for. Any other id may begin to wait between this look and the message's arrival, as
 * a request or as a job, so that it takes the right to answer either.
 *
 * @throws RequestRefused where the message may answer what its sender may not.
 */
export async function demandAnswers(
  context: GatewayContext,
  { options: { client, records } }: Pick<RouteSetting, 'options'>,
  names: SessionNames,
  message: OutgoingMessage['message'],
): Promise<void> {
  if (typeof message === 'string') return;
  const { parts = [] } = message;
  if (!parts.some(({ functionResponse }) => functionResponse !== undefined)) return;
  const subject = subjectOf(names);
  const may = (permission: Permission) =>
    context.get('principal').may({ permission, ...subject.names }) === 'allowed';
  if (may('approve') && may('operate')) return;
  const replies = replyParts(message);
  if (replies.length > 0) demand(context, 'approve', subject);
  const open = new Set(parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []));
  const forget = (known: readonly (string | undefined)[]) => {
    const found = known.filter((id) => id !== undefined && open.delete(id));
    return found.length > 0;
  };
  forget(replies.map(({ id }) => id));
  const jobs = await client.jobs.list({
    ...names,
    status: JOB_STATUSES,
    order: 'newest',
    limit: MOST_LISTED,
  });
  if (forget(jobs.flatMap(({ callId, callKey }) => [callId, ownCallId(callKey)]))) {
    demand(context, 'operate', subject);
  }
  const pending = await client.approvals.list({ ...names, limit: MOST_LISTED });
  if (forget(pending.map(({ callId }) => callId))) demand(context, 'approve', subject);
  forget((await records?.turns.findClientCalls(names)) ?? []);
  if (open.size === 0) return;
  demand(context, 'approve', subject);
  demand(context, 'operate', subject);
}
