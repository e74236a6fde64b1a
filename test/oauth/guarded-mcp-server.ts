import { serve } from '@hono/node-server';
import {
  createMcpHandler,
  InMemoryServerEventBus,
  type JSONRPCRequest,
  McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { AuthorizationServer } from '../setup/authorization-server.ts';

/** A call of one of its tools, and the token that came with it. */
export interface GuardedCall {
  tool: string;
  token: string;
}

export interface GuardedServer extends AsyncDisposable {
  url: string;
  calls: GuardedCall[];
  /** Statuses of answers to tokens that it doesn't take, or not for this. */
  refused: number[];
  /** Requests for its metadata. */
  asked: number;
  /** In place of its protected-resource metadata. */
  metadata: object | undefined;
  /** Whether it lists its tools to everybody. */
  isOpen: boolean;
  /** Whose tokens it takes. */
  trusts: AuthorizationServer | undefined;
}

const SCOPES: Readonly<Record<string, string>> = {
  list_events: 'calendar.read',
  add_event: 'calendar.write',
};

/** An MCP server of the official package that takes tokens of one authorization server, made for itself, and wants a scope for each tool. */
export async function startGuardedServer(): Promise<GuardedServer> {
  const handler = createMcpHandler(serverOfEvents, { bus: new InMemoryServerEventBus() });
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { origin, pathname } = new URL(request.url);
        const place = `${origin}/.well-known/oauth-protected-resource/mcp`;
        if (request.url === place) {
          state.asked += 1;
          const authorization_servers = [state.trusts?.issuer];
          return Response.json(
            state.metadata ?? {
              resource: state.url,
              authorization_servers,
              scopes_supported: ['calendar.read'],
            },
          );
        }
        if (pathname !== '/mcp') return new Response('', { status: 404 });
        const token = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
        const refused = (status: number, challenge: string) => {
          if (token !== '') state.refused.push(status);
          return new Response('not with these tokens', {
            status,
            headers: { 'www-authenticate': `Bearer ${challenge}` },
          });
        };
        const { method, params } = (
          request.method === 'POST' ? await request.clone().json() : {}
        ) as JSONRPCRequest;
        const tool = method === 'tools/call' ? String((params as { name?: unknown }).name) : '';
        if (state.isOpen && tool === '') return await handler.fetch(request);
        const known = await state.trusts?.provider.AccessToken.find(token);
        if (known?.isValid !== true || known.aud !== state.url)
          return refused(401, `resource_metadata="${place}", scope="calendar.read"`);
        const scope = SCOPES[tool];
        if (scope !== undefined && !known.scope?.split(' ').includes(scope))
          return refused(403, `error="insufficient_scope", scope="${scope}", resource_metadata="${place}"`);
        if (tool !== '') state.calls.push({ tool, token });
        return await handler.fetch(request);
      },
    },
    ({ port }) => resolve(port),
  );
  const state: GuardedServer = {
    ...{ url: '', calls: [], refused: [], asked: 0, isOpen: false, metadata: undefined, trusts: undefined },
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) server.closeAllConnections();
      const { promise: closed, resolve: done } = Promise.withResolvers<void>();
      server.close(() => done());
      await closed;
    },
  };
  state.url = `http://127.0.0.1:${await promise}/mcp`;
  return state;
}

function serverOfEvents(): McpServer {
  const server = new McpServer({ name: 'calendar', version: '1.0.0' });
  for (const name of Object.keys(SCOPES)) {
    server.registerTool(name, { description: `Does ${name}.`, inputSchema: z.object({}) }, () => ({
      content: [{ type: 'text', text: `${name} is done` }],
    }));
  }
  return server;
}
