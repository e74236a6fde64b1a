import { z } from 'zod';
import { getAbout } from '../../contract/about.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import type { Readiness } from './readiness.ts';

const HEALTH = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

const READY = z
  .object({
    ready: z.boolean(),
    checks: z.record(z.string(), z.boolean()).meta({
      description: 'Whether each thing that the gateway needs answers: `temporal`, `store`.',
    }),
  })
  .meta({ id: 'Readiness' });

/** How long the checks together may take, milliseconds. */
const READY_TIMEOUT = 10_000;

/** Whether the gateway lives, can work, and what it is. */
export function healthRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { options } = setting;
  const open = { tags: ['Gateway'], security: [] };
  app.document.addRoute('get', '/v1/health', {
    ...open,
    operationId: 'getHealth',
    summary: 'Whether the gateway’s process answers',
    responses: { 200: app.document.json(HEALTH, 'It does.') },
  });
  app.get('/v1/health', (context) => context.json({ status: 'ok' }));
  app.document.addRoute('get', '/v1/ready', {
    ...open,
    operationId: 'getReadiness',
    summary: 'Whether what the gateway needs answers',
    responses: {
      200: app.document.json(READY, 'All of it does.'),
      503: app.document.json(READY, 'Something doesn’t.'),
    },
  });
  app.get('/v1/ready', async (context) => {
    const checks = await checksOf(setting);
    const answers = Object.values(checks);
    const ready = answers.length > 0 && answers.every(Boolean);
    return context.json({ ready, checks }, ready ? 200 : 503);
  });
  serve(app, setting, getAbout, async () => options.about());
}

async function checksOf({ options }: RouteSetting): Promise<Record<string, boolean>> {
  const late = Promise.withResolvers<Readiness>();
  const timer = setTimeout(() => late.resolve({}), READY_TIMEOUT);
  try {
    return { ...(await Promise.race([options.ready(), late.promise])) };
  } catch (error) {
    options.logger.warn('the readiness checks have failed', { error });
    return {};
  } finally {
    clearTimeout(timer);
  }
}
