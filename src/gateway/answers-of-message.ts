import { MOST_LOOKED_AT } from '../client/find-request.ts';
import type { OutgoingMessage } from '../client/outgoing-turn.ts';
import { replyParts } from '../client/reply-parts.ts';
import { ownCallId } from '../protocol/identity.ts';
import type { Answerable } from '../protocol/message.ts';
import type { SessionNames } from '../store/store.ts';
import type { Permission } from './access.ts';
import type { GatewayContext, RouteSetting } from './gateway-app.ts';
import { demand, subjectOf } from './screen.ts';

const NEEDED: Readonly<Record<Answerable, Permission>> = { requests: 'approve', jobs: 'operate' };

/**
 * What the function responses of a message may answer: who may send may not decide, nor end jobs, by that. What waits by now is looked
 * up, so that its sender is told; what may begin to wait before the message is there is kept from it by `answers`.
 *
 * @throws RequestRefused where it answers what its sender may not.
 */
export async function answersOfMessage(
  context: GatewayContext,
  { options: { client } }: Pick<RouteSetting, 'options'>,
  names: SessionNames,
  {
    message,
    answers: named,
  }: { message: OutgoingMessage['message']; answers?: OutgoingMessage['answers'] | null },
): Promise<Pick<OutgoingMessage, 'answers'>> {
  const wanted = named ?? undefined;
  const given = wanted === undefined ? {} : { answers: wanted };
  if (typeof message === 'string') return given;
  const { parts = [] } = message;
  if (!parts.some(({ functionResponse }) => functionResponse !== undefined)) return given;
  const subject = subjectOf(names);
  const may = (what: Answerable) =>
    context.get('principal').may({ permission: NEEDED[what], ...subject.names }) === 'allowed';
  const ids = new Set(parts.map(({ functionResponse }) => functionResponse?.id));
  ids.delete(undefined);
  if (!may('requests')) {
    const pending = await client.approvals.list({ ...names, limit: MOST_LOOKED_AT });
    if (replyParts(message).length > 0 || pending.some(({ callId }) => ids.has(callId))) {
      demand(context, NEEDED.requests, subject);
    }
  }
  if (!may('jobs')) {
    const running = await client.jobs.list({ ...names, limit: MOST_LOOKED_AT });
    const isAnswered = running.some(({ callId, callKey }) => ids.has(callId) || ids.has(ownCallId(callKey)));
    if (isAnswered) demand(context, NEEDED.jobs, subject);
  }
  const both: readonly Answerable[] = ['requests', 'jobs'];
  const answers = (wanted ?? both).filter(may);
  return wanted === undefined && answers.length === both.length ? {} : { answers };
}
