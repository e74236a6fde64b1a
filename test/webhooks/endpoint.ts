import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface Hook {
  path: string;
  id: string;
  type: string;
  data: Record<string, unknown>;
  body: string;
  at: number;
  /** As it was signed, seconds since the epoch. */
  timestamp: number;
}

/** A service that takes webhooks, and believes those alone which its library does. */
export interface Endpoint {
  /** host:port */
  host: string;
  /** Those that came, by their session. */
  of(sessionId: string): Hook[];
  /** What the endpoint does with the next ones of a path; 204 for all by default. */
  answers: Map<string, (response: ServerResponse, hook: Hook) => void>;
  close(): Promise<void>;
}

export async function openEndpoint(secret: string): Promise<Endpoint> {
  const hooks: Hook[] = [];
  const answers: Endpoint['answers'] = new Map();
  const webhook = new Webhook(secret);
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    try {
      webhook.verify(body, request.headers as Record<string, string>);
    } catch {
      response.writeHead(401).end();
      return;
    }
    const { type, data } = JSON.parse(body) as Pick<Hook, 'type' | 'data'>;
    const { url: path = '' } = request;
    const hook = {
      path,
      id: String(request.headers['webhook-id']),
      type,
      data,
      body,
      at: Date.now(),
      timestamp: Number(request.headers['webhook-timestamp']),
    };
    hooks.push(hook);
    const answer = answers.get(path);
    if (answer === undefined) response.writeHead(204).end();
    else answer(response, hook);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    of: (sessionId) => hooks.filter(({ data }) => data.sessionId === sessionId),
    answers,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
