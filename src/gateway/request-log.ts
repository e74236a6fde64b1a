import { randomUUID } from 'node:crypto';
import { context as active, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { routePath } from 'hono/route';
import type { GatewayMiddleware } from './gateway-app.ts';
import type { GatewayLogger } from './gateway-logger.ts';

/** Ids that a caller may give its request: nothing that could pose as a line of a log. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/**
 * Gives each request an id, the caller's `X-Request-Id` where it has one, a span below the caller's, where the process has a tracer, and
 * a line: names of apps, users and sessions stand in paths, so that the route's pattern is told and not the path.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span
 */
export function requestLog(logger: GatewayLogger): GatewayMiddleware {
  return async (context, next) => {
    const given = context.req.header('x-request-id') ?? '';
    const requestId = REQUEST_ID.test(given) ? given : randomUUID();
    context.set('requestId', requestId);
    const { method } = context.req;
    const caller = propagation.extract(active.active(), context.req.header());
    const span = trace.getTracer('holdfast').startSpan(method, { kind: SpanKind.SERVER }, caller);
    const began = performance.now();
    await active.with(trace.setSpan(caller, span), next);
    context.header('x-request-id', requestId);
    const pattern = routePath(context, -1);
    const route = pattern === '/*' || pattern === '*' ? 'none' : pattern;
    const { status } = context.res;
    span.updateName(`${method} ${route}`);
    span.setAttributes({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'holdfast.request_id': requestId,
    });
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
    logger.info('request', {
      requestId,
      method,
      route,
      status,
      ms: Math.round(performance.now() - began),
    });
  };
}
