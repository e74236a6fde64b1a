import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from 'zod';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { checkGivenSecrets } from './check-sources.ts';
import { readWebhook } from './read-request.ts';
import { WebhookIntake } from './webhook-intake.ts';

const ANSWER = z.unknown().meta({ description: 'Answer of the source’s handler; null for nothing.' });
/** Seconds until a delivery that is being handled may come again. */
const RETRY_AFTER = '10';

/** Routes for services, which prove by a signature who they are. */
export function webhookRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { options, attester } = setting;
  const { records, logger, settings: { webhooks = {} } = {} } = options;
  if (Object.keys(webhooks).length === 0) return;
  if (records === undefined) {
    const names = Object.keys(webhooks);
    logger.warn('webhooks are off: this gateway has no store, by which each is handled once', {
      sources: names,
    });
    return;
  }
  checkGivenSecrets('defineGateway', webhooks);
  const sources = new Map(Object.entries(webhooks));
  const intake = new WebhookIntake(options, attester, records.messages);
  app.document.addRoute('post', '/v1/webhooks/{source}', {
    tags: ['Webhooks'],
    operationId: 'receiveWebhook',
    summary: 'Tell what has happened elsewhere',
    description:
      'Signed by the source, by Standard Webhooks unless its configuration says otherwise. The same delivery again gets the first answer.',
    security: [],
    parameters: [{ name: 'source', in: 'path', required: true, schema: { type: 'string' } }],
    responses: {
      200: app.document.json(ANSWER, 'It was handled, now or before.'),
      ...app.document.refusals(413, 415),
    },
  });
  app.post('/v1/webhooks/:source', async (context) => {
    const name = context.req.param('source');
    const requestId = context.get('requestId');
    const taken = await intake.take(name, sources.get(name), await readWebhook(context), requestId);
    if (taken.kind === 'busy') return context.json({ error: BUSY }, 503, { 'retry-after': RETRY_AFTER });
    const { status, body } = taken.answer;
    if (status === 204 || status === 205) return context.body(null, status);
    return context.json(body ?? null, status as ContentfulStatusCode);
  });
}

const BUSY = {
  code: 'HOLDFAST_WEBHOOK_BUSY',
  message: 'this delivery is being handled: send it again later',
};
