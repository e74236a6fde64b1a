import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A request as it came. */
export interface Heard {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** An HTTP service on loopback, which ends with the file. */
export interface ApiServer {
  origin: string;
  /** For `allow`. */
  host: string;
  heard: Heard[];
  answer: (heard: Heard, response: Parameters<RequestListener>[1]) => void;
}

export async function serveApi(): Promise<ApiServer> {
  const api: ApiServer = {
    origin: '',
    host: '',
    heard: [],
    answer: (heard, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ url: heard.url }));
    },
  };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const heard = { method, url, headers, body: Buffer.concat(chunks) };
      api.heard.push(heard);
      api.answer(heard, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  api.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  api.origin = `http://${api.host}`;
  afterAll(() => void server.close());
  return api;
}
