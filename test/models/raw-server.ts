import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RawRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

export interface RawServer extends AsyncDisposable {
  url: string;
  requests: RawRequest[];
  /** Resolves when the connection of a request was closed before its response had ended. */
  hangUp: Promise<void>;
}

/** An HTTP server for bytes that no well-behaved provider sends. */
export async function startRawServer(
  answer: (response: ServerResponse, request: RawRequest) => void | Promise<void>,
): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const hangUp = Promise.withResolvers<void>();
  const server = createServer(async (incoming, response) => {
    response.once('close', () => {
      if (!response.writableFinished) hangUp.resolve();
    });
    const request = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: JSON.parse(await text(incoming)),
    };
    requests.push(request);
    await answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    hangUp: hangUp.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers });
  response.end(JSON.stringify(body));
}

export function sendEvents(response: ServerResponse, events: unknown[], end = true): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\r\n\r\n`);
  if (end) response.end();
}
