import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** What the test tells the server, as JSON in its first argument. */
export interface KilledServerOptions {
  /** Of the files through which the server is seen, and held, from outside. */
  folder: string;
  /** How it is reached: HTTP with the sessions of 2025, HTTP of 2026, or its standard input and output. */
  way: 'HTTP of 2025' | 'HTTP of 2026' | 'standard input and output';
  port: number;
  /** Whether it has the effect of a key once. It says so of its tool. */
  isIdempotent: boolean;
}

const { folder, way, port, isIdempotent }: KilledServerOptions = JSON.parse(process.argv[2] ?? '{}');
const fileOf = (name: string) => join(folder, name);
const read = (name: string) => (existsSync(fileOf(name)) ? readFileSync(fileOf(name), 'utf8') : '');
const write = (name: string, line: string | number) => appendFileSync(fileOf(name), `${line}\n`);
const never = () => new Promise<never>(() => undefined);

function made(): McpServer {
  const server = new McpServer({ name: 'killed', version: '1' });
  const inputSchema = z.object({});
  server.registerTool(
    'look',
    { description: 'Looks.', inputSchema, annotations: { readOnlyHint: true } },
    () => ({ content: [{ type: 'text', text: 'seen' }] }),
  );
  server.registerTool(
    'act',
    { description: 'Has an effect.', inputSchema, annotations: { idempotentHint: isIdempotent } },
    async (_args, { mcpReq }) => {
      const key = String(mcpReq._meta?.['holdfast/idempotency-key']);
      const held = read('hold');
      write('calls', key);
      if (held === 'before its effect') await never();
      if (!isIdempotent || !read('effects').includes(key)) write('effects', key);
      if (held === 'after its effect') await never();
      return { content: [{ type: 'text', text: 'acted' }] };
    },
  );
  return server;
}

const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

async function inSession(request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id');
  const known = sessions.get(id ?? '');
  if (known !== undefined) return await known.handleRequest(request);
  if (id !== null) return new Response('no such session', { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (session) => void sessions.set(session, transport),
  });
  await made().connect(transport);
  return await transport.handleRequest(request);
}

if (way === 'standard input and output') {
  serveStdio(made);
  write('pids', process.pid);
} else {
  const { fetch } = way === 'HTTP of 2025' ? { fetch: inSession } : createMcpHandler(made);
  serve({ port, hostname: '127.0.0.1', fetch: (request) => fetch(request) }, () =>
    write('pids', process.pid),
  );
}
