import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { requestListener } from '../../src/gateway/serve-gateway.ts';
import { codeOf, HEADERS, HOST, stubGateway } from './gateway-stub.ts';

const CHUNK = 64 * 1024;
/** Bytes of a body that was cut off for certain: rights.test.ts has the limits. */
const ENOUGH = 5 * 1024 * 1024;

const { gateway } = stubGateway({
  'approvals.get': () => ({ requestId: 'x', app: 'shop', userId: 'ada', sessionId: 's1' }),
});

describe('a body that is too large', () => {
  test('is refused before it is read, where its sender says so [auth.limits]', async () => {
    let taken = 0;
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          taken += CHUNK;
          controller.enqueue(new Uint8Array(CHUNK));
        },
      },
      { highWaterMark: 0 },
    );
    const answer = await gateway.request(`http://${HOST}/v1/approvals/x/confirm`, {
      method: 'POST',
      headers: { ...HEADERS, 'content-type': 'application/json', 'content-length': '10000000' },
      body: stream,
      duplex: 'half',
    } as RequestInit);
    expect([answer.status, await codeOf(answer)]).toEqual([413, 'HOLDFAST_GATEWAY_BODY_TOO_LARGE']);
    expect(taken).toBeLessThanOrEqual(CHUNK);
  });

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
        socket.write(chunk, () => (sent < ENOUGH ? setImmediate(send) : setTimeout(send, 50)));
      };
      send();
      await closed;
      expect(said).toMatch(/^HTTP\/1.1 413 /);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
