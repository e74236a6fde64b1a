import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import { requestListener } from '../../src/gateway/serve-gateway.ts';
import { type Document, readDocument } from './document-check.ts';
import { codeOf, HEADERS, HOST, stubGateway } from './gateway-stub.ts';

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;
const SHORT = 4 * MIB;
/** Its body is bytes, as many as an artifact may have: clients.test.ts of artifacts. */
const BYTES = 'putArtifact';
/** Bodies that may be long. */
const LONG: Record<string, number> = {
  createSession: 16 * MIB,
  sendMessage: 16 * MIB,
};

const done: string[] = [];
const row = { requestId: 'x', jobId: 'x', app: 'shop', userId: 'ada', sessionId: 's1', status: 'running' };
/** Whose something is may be asked; whatever else it is asked for, is done. */
const asked: object = new Proxy(() => undefined, {
  get: (_none, name) => {
    if (name === 'get') return async () => row;
    return ['sessions', 'approvals', 'jobs', 'credentials'].includes(String(name))
      ? asked
      : doing(String(name));
  },
});
const doing = (name: string) => async () => {
  done.push(name);
};
const { gateway } = stubGateway(asked as HoldfastApi);

let document: Document;
beforeAll(async () => {
  document = await readDocument(gateway, HOST);
});

const writing = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([method, { security, operationId }]) =>
          method !== 'get' && security?.length !== 0 && operationId !== BYTES,
      )
      .map(([method, { operationId }]) => ({
        ...{ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'x'), operationId },
        limit:
          path.startsWith('/v1/jobs/') && !path.endsWith('/cancel') ? 10 * MIB : (LONG[operationId] ?? SHORT),
      })),
  );

/** Spaces: JSON may begin with any number of them. */
function body(bytes: number): { stream: ReadableStream<Uint8Array>; taken: () => number } {
  let taken = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (taken >= bytes) return controller.close();
        taken += CHUNK;
        controller.enqueue(new Uint8Array(CHUNK).fill(0x20));
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, taken: () => taken };
}

describe('a body that is too large', () => {
  test.each([true, false])(
    'is refused on every route, and no more of it read than is taken; said so before: %s [auth.limits]',
    async (isSaid) => {
      const routes = writing();
      expect(routes.length).toBeGreaterThan(15);
      for (const { method, path, operationId, limit } of routes) {
        const size = limit === SHORT ? 10_000_000 : limit + CHUNK;
        const { stream, taken } = body(size);
        const answer = await gateway.request(`http://${HOST}${path}`, {
          method,
          headers: {
            ...HEADERS,
            'content-type': 'application/json',
            ...(isSaid ? { 'content-length': String(size) } : {}),
          },
          body: stream,
          duplex: 'half',
        } as RequestInit);
        expect([operationId, answer.status]).toEqual([operationId, 413]);
        expect(await codeOf(answer)).toBe('HOLDFAST_GATEWAY_BODY_TOO_LARGE');
        expect(taken()).toBeLessThanOrEqual(isSaid ? CHUNK : limit + 2 * CHUNK);
      }
      expect(done).toEqual([]);
    },
  );

  test('that doesn’t end is answered, and cut off [auth.limits]', async () => {
    const server = createServer(requestListener(gateway));
    server.listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => server.once('listening', resolve));
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      const lines = [
        'POST /v1/approvals/x/confirm HTTP/1.1',
        ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
        'content-type: application/json',
        'transfer-encoding: chunked',
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      let said = '';
      socket.on('data', (data) => {
        said += String(data);
      });
      const chunk = `${CHUNK.toString(16)}\r\n${' '.repeat(CHUNK)}\r\n`;
      const closed = new Promise<void>((resolve) =>
        socket.on('close', () => resolve()).on('error', () => undefined),
      );
      let sent = 0;
      const send = () => {
        // Slowly, once it is answered: whoever goes on isn't listened to for long.
        if (socket.destroyed) return;
        sent += CHUNK;
        socket.write(chunk, () => (sent < SHORT + MIB ? setImmediate(send) : setTimeout(send, 50)));
      };
      send();
      await closed;
      expect(said).toMatch(/^HTTP\/1.1 413 /);
      expect(done).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
