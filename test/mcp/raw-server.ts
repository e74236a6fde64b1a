import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An answer to a method of MCP, or of HTTP: a result, or what writes to the response by itself. */
export type RawAnswer = object | ((response: ServerResponse, id: unknown, params?: RawParams) => void);

/** Of a call. */
export interface RawParams {
  name?: string;
  _meta?: { progressToken?: unknown };
}

export interface RawServer extends AsyncDisposable {
  url: string;
  answers: Record<string, RawAnswer>;
  /** Methods that it was asked, in order. */
  asked: string[];
  /** Sockets that are open. */
  sockets(): Promise<number>;
}

/** A server of MCP 2025-11-25, written by hand: it can say anything. */
export async function startRawServer(answers: Record<string, RawAnswer>): Promise<RawServer> {
  const asked: string[] = [];
  const all: Record<string, RawAnswer> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    },
    ...answers,
  };
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const other = all[request.method ?? ''];
    if (typeof other === 'function') return other(response, undefined);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(await text(request)) as {
      id?: unknown;
      method: string;
      params?: RawParams;
    };
    asked.push(message.method);
    if (message.id === undefined) return void response.writeHead(202).end();
    const answer = all[message.method];
    if (typeof answer === 'function') return answer(response, message.id, message.params);
    const error = { code: -32601, message: 'no such method' };
    response.writeHead(200, { 'content-type': 'application/json' });
    const said = answer === undefined ? { error } : { result: answer };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    answers: all,
    asked,
    sockets: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * The source of a program that serves MCP over standard input and output.
 *
 * @param methods source of an object's members: functions by the method that they answer, given `say(response)`.
 */
export function stdioProgram(methods: string): string {
  return `
    const methods = {
      initialize: (say) =>
        say({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } }),
      ${methods}
    };
    const unknown = (say) => say({ error: { code: -32601, message: 'no such method' } });
    const silent = () => {};
    let rest = '';
    process.stdin.on('data', (chunk) => {
      const lines = (rest + chunk).split('\\n');
      rest = lines.pop();
      for (const line of lines) {
        const { id, method } = JSON.parse(line);
        const say = (response) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...response }));
        (methods[method] ?? (id === undefined ? silent : unknown))(say);
      }
    });
  `;
}
