import type { Database } from '../engine/database.ts';
import { jsonText } from '../engine/json-text.ts';
import type { WebhookAnswered, WebhookStore } from './webhook-store.ts';

const ANSWER = `update holdfast.webhook_deliveries d set answer = $4
where d.source = $1 and d.delivery = $2 and d.holder = $3 and d.answer is null`;

const GIVE_BACK = `delete from holdfast.webhook_deliveries d
where d.source = $1 and d.delivery = $2 and d.holder = $3 and d.answer is null`;

export async function takeDelivery(
  database: Database,
  { source, id, holder, time }: Parameters<WebhookStore['takeDelivery']>[0],
): ReturnType<WebhookStore['takeDelivery']> {
  const [row] = await database.query<{ known: { taken: boolean; answer?: WebhookAnswered | null } }>(
    'select holdfast.take_delivery($1, $2, $3, $4) as known',
    [source, id, holder, time],
  );
  if (row?.known.taken) return { kind: 'taken' };
  const answer = row?.known.answer;
  return answer ? { kind: 'answered', answer } : { kind: 'busy' };
}

export async function answerDelivery(
  database: Database,
  { source, id, holder, answer }: Parameters<WebhookStore['answerDelivery']>[0],
): Promise<void> {
  await database.query(ANSWER, [source, id, holder, jsonText(answer)]);
}

export async function giveDeliveryBack(
  database: Database,
  { source, id, holder }: Parameters<WebhookStore['giveDeliveryBack']>[0],
): Promise<void> {
  await database.query(GIVE_BACK, [source, id, holder]);
}
