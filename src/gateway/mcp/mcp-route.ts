import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { couldAnswer } from '../../approvals/voting.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import type { McpCaller } from '../../mcp/mcp-caller.ts';
import { loadMcpServer, mcpServerFactory } from '../../mcp/mcp-server.ts';
import { offeredTools } from '../../mcp/offered-tools.ts';
import { guarded } from '../access/guarded.ts';
import { subjectOf } from '../access/screen.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';

/** Milliseconds that waiting calls have for their answers when the gateway closes. */
const LAST_ANSWERS = 1_000;

/**
 * Headers about a request's own body, answer and connection. Any other one may say who asks, so the caller's requests to the gateway's own
 * routes have it, too.
 */
const OF_ITSELF =
  /^(accept|accept-.*|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|range|if-.*|last-event-id|mcp-.*)$/;

/**
 * `/mcp`: the app's agents and tools by MCP over Streamable HTTP, with the gateway's own authentication. Each request asks the other
 * routes in the caller's name, so that a caller may do here what it may do there.
 */
export function mcpRoute(app: GatewayHono, setting: RouteSetting): void {
  const { settings, logger, about, publicUrl } = setting.options;
  const mcp = settings?.mcp;
  if (mcp === undefined) return;
  const tools = offeredTools('defineGateway', 'mcp.agents', mcp.agents);
  let handler: Promise<McpHttpHandler> | undefined;
  const whose = (context: GatewayContext) => ({ app: appOf(mcp.app, about().apps), userId: userOf(context) });

  const middleware = guarded(setting, 'run', (context) => subjectOf(whose(context)));
  app.on(['POST'], ['/mcp'], ...middleware, async (context) => {
    handler ??= opened();
    const { fetch } = await handler;
    const { req } = context;
    const request = new Request(req.url, {
      method: 'POST',
      headers: req.raw.headers,
      body: await req.text(),
      signal: req.raw.signal,
    });
    const { name: clientId } = context.get('principal');
    return await fetch(request, {
      authInfo: { token: '', clientId, scopes: [], extra: { caller: callerOf(context) } },
    });
  });

  async function opened(): Promise<McpHttpHandler> {
    const server = await loadMcpServer();
    const onError = (error: unknown) => logger.error('a request by MCP has failed', { error });
    const factory = mcpServerFactory(server, { tools, onError }, callerIn);
    const made = server.createMcpHandler(factory);
    const close = () => {
      handler = undefined;
      made.close().catch(onError);
    };
    // Calls that wait answer first, and open subscriptions end.
    const end = () => void setTimeout(close, LAST_ANSWERS).unref();
    if (setting.closing.aborted) end();
    setting.closing.addEventListener('abort', end, { once: true });
    return made;
  }

  function callerOf(context: GatewayContext): McpCaller {
    const { req, env } = context;
    const kept = [...req.raw.headers].filter(([name]) => !OF_ITSELF.test(name));
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      request.headers.delete('authorization');
      for (const [name, value] of kept) request.headers.set(name, value);
      const answer = await app.fetch(request, env);
      // A network's body ends with its request's signal.
      const body = answer.body?.pipeThrough(new TransformStream(), { signal: request.signal }) ?? null;
      return new Response(body, answer);
    };
    const names = whose(context);
    const principal = context.get('principal');
    const { person } = principal;
    const decides = principal.may({ permission: 'approve', ...names }) === 'allowed';
    return {
      ...names,
      api: new GatewayClient({ url: new URL(req.url).origin, token: '', fetch }),
      ending: setting.closing,
      decides: (request) => decides && (person === undefined || couldAnswer(request, person)),
      pageOf: (requestId) =>
        publicUrl === undefined || !setting.hasInbox
          ? undefined
          : `${publicUrl.replace(/(?<!\/)\/+$/, '')}/inbox/requests/${encodeURIComponent(requestId)}`,
    };
  }
}

function callerIn(authInfo: object | undefined): McpCaller {
  return (authInfo as { extra: { caller: McpCaller } }).extra.caller;
}

/** @throws RequestRefused where the gateway's process serves several apps, or none. */
function appOf(given: string | undefined, served: readonly string[]): string {
  const app = given ?? (served.length === 1 ? served[0] : undefined);
  if (app !== undefined) return app;
  throw new RequestRefused(
    'HOLDFAST_GATEWAY_BAD_REQUEST',
    `mcp.app of defineGateway: name the app, since this gateway serves ${served.join(', ') || 'none itself'}`,
  );
}

/** @throws RequestRefused where nobody says which user it is. */
function userOf(context: GatewayContext): string {
  const { userId, person } = context.get('principal');
  const user = context.req.query('user') ?? userId ?? person;
  if (user !== undefined && user !== '') return user;
  throw new RequestRefused(
    'HOLDFAST_GATEWAY_BAD_REQUEST',
    'query.user: name the user whose sessions these are, as in /mcp?user=ada: your key is for all users',
  );
}
