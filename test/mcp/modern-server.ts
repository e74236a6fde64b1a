import { serve } from '@hono/node-server';
import {
  acceptedContent,
  createMcpHandler,
  InMemoryServerEventBus,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A request to a tool of the server. */
export interface McpServed {
  tool: string;
  args: unknown;
  authorization: string | null;
  idempotencyKey: unknown;
}

export interface ModernServer extends AsyncDisposable {
  url: string;
  /** Effects of its tools, in order. */
  served: McpServed[];
  /** Requests over HTTP. */
  requests: number;
  /** Tools that it has beside the others; changes are told. */
  extra: Map<string, string>;
  changed(): void;
  /** Answers of the next requests: they are refused with this status. */
  refuses: number[];
  /** What a proxy answers in place of a call that has had its effect. */
  instead: (() => Response | Promise<Response>) | undefined;
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** An MCP server of the revision 2026-07-28, of the official package, over Streamable HTTP. */
export async function startModernServer(port = 0): Promise<ModernServer> {
  const served: McpServed[] = [];
  const extra = new Map<string, string>();
  const bus = new InMemoryServerEventBus();
  const handler = createMcpHandler(() => serverOf(served, extra), { bus });
  const state = { requests: 0, refuses: [] as number[], instead: undefined as ModernServer['instead'] };
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      port,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        state.requests += 1;
        const refusal = state.refuses.shift();
        if (refusal !== undefined) return new Response('not now', { status: refusal });
        const before = served.length;
        const response = await handler.fetch(request);
        return (served.length > before && (await state.instead?.())) || response;
      },
    },
    (info) => resolve(info.port),
  );
  const at = await promise;
  return Object.assign(state, {
    url: `http://127.0.0.1:${at}/mcp`,
    served,
    extra,
    changed: () => handler.notify.toolsChanged(),
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) server.closeAllConnections();
      const { promise: closed, resolve: done } = Promise.withResolvers<void>();
      server.close(() => done());
      await closed;
    },
  });
}

function serverOf(served: McpServed[], extra: ReadonlyMap<string, string>): McpServer {
  const server = new McpServer({ name: 'desk', version: '1.0.0' });
  const did = (tool: string, args: unknown, ctx: { http?: { req?: Request }; mcpReq: { _meta?: object } }) =>
    served.push({
      tool,
      args,
      authorization: ctx.http?.req?.headers.get('authorization') ?? null,
      idempotencyKey: (ctx.mcpReq._meta as Record<string, unknown> | undefined)?.['holdfast/idempotency-key'],
    });
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }, ctx) => {
      did('add', { a, b }, ctx);
      return { content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } };
    },
  );
  server.registerTool('draw', { description: 'Draws.', inputSchema: z.object({}) }, (args, ctx) => {
    did('draw', args, ctx);
    return {
      content: [
        { type: 'text', text: 'A dot.' },
        { type: 'image', data: PNG.toString('base64'), mimeType: 'image/whatever' },
        { type: 'resource', resource: { uri: 'memo://1', text: 'Remember.' } },
      ],
    };
  });
  server.registerTool('fail', { description: 'Fails.', inputSchema: z.object({}) }, (args, ctx) => {
    did('fail', args, ctx);
    return { content: [{ type: 'text', text: 'the printer is on fire' }], isError: true };
  });
  server.registerTool(
    'book',
    {
      description: 'Books a table.',
      inputSchema: z.object({ day: z.string() }),
      annotations: { destructiveHint: true },
    },
    ({ day }, ctx) => {
      const answer = acceptedContent<{ people: number }>(ctx.mcpReq.inputResponses, 'people');
      if (answer === undefined) {
        return inputRequired({
          inputRequests: {
            people: inputRequired.elicit({
              message: 'For how many people?',
              requestedSchema: {
                type: 'object',
                properties: { people: { type: 'integer', minimum: 1 } },
                required: ['people'],
              },
            }),
          },
          requestState: `day:${day}`,
        });
      }
      did('book', { day, ...answer, state: ctx.mcpReq.requestState() }, ctx);
      return { content: [{ type: 'text', text: `Booked ${day} for ${answer.people}.` }] };
    },
  );
  for (const [name, description] of extra) {
    server.registerTool(name, { description, inputSchema: z.object({}) }, (args, ctx) => {
      did(name, args, ctx);
      return { content: [{ type: 'text', text: name }] };
    });
  }
  return server;
}
