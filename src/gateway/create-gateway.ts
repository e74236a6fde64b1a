import { CORPORA } from '../contract/corpora.ts';
import { CREDENTIALS } from '../contract/credentials.ts';
import { JOBS } from '../contract/jobs.ts';
import { MEMORIES } from '../contract/memories.ts';
import { PUBLIC_URL_FORM, publicUrlOf } from '../net/public-url.ts';
import type { Access } from './access/access.ts';
import { ApiKeys } from './access/api-keys.ts';
import { CallerLimits } from './access/caller-limits.ts';
import { screen } from './access/screen.ts';
import { canSignIn } from './access/trusted-issuer.ts';
import { approvalRoutes } from './approvals/approval-routes.ts';
import { GatewayAttester } from './approvals/gateway-attester.ts';
import { artifactRoutes } from './artifacts/artifact-routes.ts';
import { Background } from './background.ts';
import { connectRoutes } from './connections/connect-routes.ts';
import { documentRoutes } from './document/document-routes.ts';
import { errorAnswer } from './error-answer.ts';
import { emptyApp, type GatewayHono, type GatewayMiddleware } from './gateway-app.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { healthRoutes } from './health/health-routes.ts';
import { mcpRoute } from './mcp/mcp-route.ts';
import { homeRoute } from './pages/home-page.ts';
import { inboxRoutes } from './pages/inbox-routes.ts';
import { linkRoutes } from './pages/link-routes.ts';
import { requestLog } from './request-log.ts';
import type { RouteSetting } from './route-setting.ts';
import { serveAll } from './serve.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { slackRoutes } from './slack/slack-routes.ts';
import { eventRoutes } from './turns/event-routes.ts';
import { OpenStreams } from './turns/open-streams.ts';
import { steeringRoutes } from './turns/steering-routes.ts';
import { turnRoutes } from './turns/turn-routes.ts';
import { unfailing } from './unfailing-logger.ts';
import { unknownRoute } from './unknown-route.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';

/** The gateway as a Hono application: {@link serveGateway} gives it a port. */
export interface Gateway {
  readonly app: GatewayHono;
  /** How far its access lets it be reached. */
  readonly reach: Access['reach'];
  /** How many streams it is sending. */
  readonly openStreams: number;
  /** Answers one request. */
  fetch(request: Request, env?: object): Response | Promise<Response>;
  /** As `app.request`: answers a request in process. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Ends streams and long polls; their callers come back elsewhere, or later. */
  endStreams(): void;
  /** Waits for what it has answered and is still doing, ten seconds at most, and writes down what it has refused; to be awaited before its store closes. */
  flush(): Promise<void>;
}

/**
 * Turns and sessions over HTTP: JSON, and server-sent events. Callers must be let in by `access`, except for
 * `/v1/health`, `/v1/ready` and `/openapi.json`, which hold no data. Its routes stand in the last one.
 *
 * @throws TypeError for a `publicUrl` by which keys would go to other machines without TLS.
 * @example
 * const gateway = createGateway({ client, about, ready, access: localAccess({ token }), logger });
 * const { url, close } = await serveGateway({ gateway });
 */
export function createGateway(given: GatewayOptions): Gateway {
  const publicUrl = given.publicUrl ?? given.settings?.publicUrl;
  if (publicUrl !== undefined && publicUrlOf(publicUrl) === undefined) {
    throw new TypeError(`createGateway: publicUrl: expected ${PUBLIC_URL_FORM}`);
  }
  const options: GatewayOptions = {
    ...given,
    logger: unfailing(given.logger),
    ...(publicUrl === undefined ? {} : { publicUrl }),
  };
  const streams = new OpenStreams(options.settings?.access?.rateLimits?.streams);
  const { records, logger } = options;
  warnOfProxy(options);
  const { access, inbox } = options.settings ?? {};
  const keys = records && access?.keys !== false ? new ApiKeys({ store: records, logger }) : undefined;
  const issuers = (records && access?.issuers?.filter(canSignIn)) ?? [];
  const setting: RouteSetting = {
    options,
    streams,
    attester: new GatewayAttester(options),
    limits: new CallerLimits(options),
    ...{ keys, issuers, hasInbox: (keys ?? issuers[0]) !== undefined && inbox?.enabled !== false },
    closing: streams.closing,
    background: new Background({ logger, closing: streams.closing }),
  };
  const app = emptyApp();
  app.use('*', requestLog(options.logger), safeHeaders, setting.limits.watch, screen(options.access));
  healthRoutes(app, setting);
  sessionRoutes(app, setting);
  artifactRoutes(app, setting);
  serveAll(app, setting, MEMORIES);
  serveAll(app, setting, CORPORA);
  turnRoutes(app, setting);
  eventRoutes(app, setting);
  steeringRoutes(app, setting);
  approvalRoutes(app, setting);
  serveAll(app, setting, CREDENTIALS);
  serveAll(app, setting, JOBS);
  webhookRoutes(app, setting);
  linkRoutes(app, setting);
  connectRoutes(app, setting);
  inboxRoutes(app, setting);
  homeRoute(app, setting);
  slackRoutes(app, setting);
  mcpRoute(app, setting);
  documentRoutes(app, setting);
  app.notFound(unknownRoute(app, { access: options.access, limits: setting.limits }));
  app.onError((error, context) => {
    const { status, body, headers, unexpected } = errorAnswer(error);
    if (unexpected)
      options.logger.error('a request has failed', { requestId: context.get('requestId'), error });
    return context.json(body, status, headers);
  });
  return {
    app,
    reach: options.access.reach,
    get openStreams() {
      return streams.size;
    },
    fetch: (request, env) => app.fetch(request, env),
    request: async (path, init) => await app.request(path, init),
    endStreams: () => streams.end(),
    async flush() {
      await setting.background.settle();
      await setting.limits.flush();
    },
  };
}

/** Only a proxy makes it https. */
function warnOfProxy({ access, publicUrl = '', settings, logger }: GatewayOptions): void {
  const isBehindOne = access.reach === 'network' && publicUrl.startsWith('https:');
  if (!isBehindOne || settings?.access?.trustProxy !== undefined) return;
  logger.warn(
    'all callers share the address of the proxy that ends TLS, and the limit of those who aren’t known: set `access.trustProxy` of ' +
      'defineGateway to true where the proxy adds callers’ addresses to X-Forwarded-For, else to false',
  );
}

/** No answer is kept, framed, sniffed for its type, or read by another origin. */
const safeHeaders: GatewayMiddleware = async (context, next) => {
  await next();
  const { headers } = context.res;
  const setDefault = (name: string, value: string) => {
    if (!headers.has(name)) headers.set(name, value);
  };
  setDefault('cache-control', 'no-store');
  setDefault('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  setDefault('cross-origin-resource-policy', 'same-origin');
  setDefault('referrer-policy', 'no-referrer');
  setDefault('x-content-type-options', 'nosniff');
};
