import { randomUUID } from 'node:crypto';
import { routePath } from 'hono/route';
import type { GatewayMiddleware } from './gateway-app.ts';
import type { GatewayLogger } from './gateway-logger.ts';

/** Ids that a caller may give its request: nothing that could pose as a line of a log. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/**
 * Gives each request an id, the caller's `X-Request-Id` where it has one, and writes a line for it: names of apps, users and
 * sessions stand in paths, so that the route's pattern is told and not the path.
 */
export function requestLog(logger: GatewayLogger): GatewayMiddleware {
  return async (context, next) => {
    const given = context.req.header('x-request-id') ?? '';
    const requestId = REQUEST_ID.test(given) ? given : randomUUID();
    context.set('requestId', requestId);
    const began = performance.now();
    await next();
    context.header('x-request-id', requestId);
    const pattern = routePath(context, -1);
    logger.info('request', {
      requestId,
      method: context.req.method,
      route: pattern === '/*' || pattern === '*' ? 'none' : pattern,
      status: context.res.status,
      ms: Math.round(performance.now() - began),
    });
  };
}
