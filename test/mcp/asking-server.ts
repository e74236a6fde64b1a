import { randomUUID } from 'node:crypto';
import { serve } from '@hono/node-server';
import {
  type JSONRPCRequest,
  McpServer,
  type ServerContext,
  UrlElicitationRequiredError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A question of the server, and what it was told. */
export interface Told {
  action: string;
  content?: unknown;
}

export interface AskingServer extends AsyncDisposable {
  url: string;
  /** Questions that it has asked, each attempt of a call anew. */
  asked: string[];
  /** Answers, in the order in which they came; an error is its message. */
  told: (Told | string)[];
  /** Calls of its tools, in order. */
  calls: Record<string, unknown>[];
  /** Whether the person has opened its page. */
  isVisited: boolean;
}

type State = Pick<AskingServer, 'asked' | 'told' | 'calls' | 'isVisited'>;

const FORM = {
  type: 'object' as const,
  properties: {
    people: { type: 'integer' as const, minimum: 1 },
    decline: { type: 'string' as const },
  },
  required: ['people'],
};
/** Milliseconds: the server is more patient than anybody here. */
const PATIENCE = 600_000;

/** An MCP server of the revision 2025-11-25, of the official package, over Streamable HTTP. It asks on the open connection. */
export async function startAskingServer(): Promise<AskingServer> {
  const state: State = { asked: [], told: [], calls: [], isVisited: false };
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const opened = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await serverOf(state).connect(transport);
    return transport;
  };
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        if (request.method === 'POST') {
          const { method, params } = (await request.clone().json()) as JSONRPCRequest;
          if (method === 'tools/call') state.calls.push({ ...params });
        }
        const session = sessions.get(request.headers.get('mcp-session-id') ?? '');
        return await (session ?? (await opened())).handleRequest(request);
      },
    },
    (info) => resolve(info.port),
  );
  const url = `http://127.0.0.1:${await promise}/mcp`;
  return Object.assign(state, {
    url,
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) server.closeAllConnections();
      const { promise: closed, resolve: done } = Promise.withResolvers<void>();
      server.close(() => done());
      await closed;
    },
  });
}

function serverOf(state: State): McpServer {
  const { asked, told } = state;
  const server = new McpServer({ name: 'desk', version: '1.0.0' });
  const inputSchema = z.object({ day: z.string() });
  const book =
    (isInAnswer: boolean) =>
    async ({ day }: { day: string }, { mcpReq }: ServerContext) => {
      const message = `For how many people on ${day}?`;
      asked.push(message);
      try {
        const { action, content } = await mcpReq.elicitInput(
          { message, requestedSchema: FORM },
          { timeout: PATIENCE, ...(isInAnswer ? { relatedRequestId: mcpReq.id } : {}) },
        );
        told.push({ action, ...(content === undefined ? {} : { content }) });
        const people = action === 'accept' ? JSON.stringify(content) : 'nobody';
        return { content: [{ type: 'text' as const, text: `Booked ${day} for ${people}.` }] };
      } catch (error) {
        told.push((error as Error).message);
        throw error;
      }
    };
  const description = 'Books a table.';
  server.registerTool('book', { description, inputSchema }, book(true));
  // As servers of the official package ask: on the stream beside all calls.
  server.registerTool('book_beside', { description, inputSchema }, book(false));
  server.registerTool('read_mail', { description: 'Reads mail.', inputSchema: z.object({}) }, () => {
    if (state.isVisited) return { content: [{ type: 'text', text: 'No mail.' }] };
    const message = 'Allow the desk to read your mail.';
    const url = 'https://mail.example.com/allow?desk=1';
    throw new UrlElicitationRequiredError([{ mode: 'url', elicitationId: 'e-1', message, url }]);
  });
  return server;
}
