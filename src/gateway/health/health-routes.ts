import { createRoute, z } from '@hono/zod-openapi';
import type { GatewayAbout } from '../../contract/about.ts';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { json, problems } from '../schemas/answers.ts';
import type { Readiness } from './readiness.ts';

const READY = z
  .object({
    ready: z.boolean(),
    checks: z.record(z.string(), z.boolean()).openapi({
      type: 'object',
      additionalProperties: { type: 'boolean' },
      description: 'Whether each thing that the gateway needs answers: `temporal`, `store`.',
    }),
  })
  .openapi('Readiness');

const ABOUT = z
  .looseObject({
    v: z.literal(1),
    version: z.string().openapi({ description: 'Holdfast’s version.' }),
    namespace: z.string(),
    taskQueue: z.string(),
    uiUrl: z.string().optional().openapi({ description: 'Base of the Temporal UI, where it is known.' }),
    store: z.enum(['embedded', 'postgres']),
    apps: z.array(z.string()),
    agents: z.array(z.string()),
  })
  .openapi('About') as unknown as z.ZodType<GatewayAbout>;

/** How long the checks together may take, milliseconds. */
const READY_TIMEOUT = 10_000;

/** Whether the gateway lives, can work, and what it is. */
export function healthRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { options } = setting;
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/health',
      tags: ['Gateway'],
      operationId: 'getHealth',
      summary: 'Whether the gateway’s process answers',
      security: [],
      responses: { 200: json(z.object({ status: z.literal('ok') }).openapi('Health'), 'It does.') },
    }),
    (context) => context.json({ status: 'ok' as const }, 200),
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/ready',
      tags: ['Gateway'],
      operationId: 'getReadiness',
      summary: 'Whether what the gateway needs answers',
      security: [],
      responses: { 200: json(READY, 'All of it does.'), 503: json(READY, 'Something doesn’t.') },
    }),
    async (context) => {
      const checks = await checksOf(setting);
      const answers = Object.values(checks);
      const ready = answers.length > 0 && answers.every(Boolean);
      return ready ? context.json({ ready, checks }, 200) : context.json({ ready, checks }, 503);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/about',
      tags: ['Gateway'],
      operationId: 'getAbout',
      summary: 'Which Holdfast this is, and what it serves',
      ...guarded(setting, 'read'),
      responses: { 200: json(ABOUT, 'About this gateway.'), ...problems() },
    }),
    (context) => context.json(options.about(), 200),
  );
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
