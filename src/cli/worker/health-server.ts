import { once } from 'node:events';
import { createServer } from 'node:http';
import { outliveErrors } from '../../net/outlive-errors.ts';

/** Every address of the machine: probes come from outside of the container. */
const HOST = '0.0.0.0';

export interface HealthServer {
  close(): Promise<void>;
}

/**
 * Answers `GET /v1/health` with 200 as long as the process lives, and `GET /v1/ready` with 200 or 503. No data, so that it
 * may be reached from other machines.
 */
export async function serveHealth(port: number, ready: () => Promise<boolean>): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
    };
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, {});
    if (request.url === '/v1/health') return answer(200, { status: 'ok' });
    if (request.url !== '/v1/ready') return answer(404, {});
    ready().then(
      (isReady) => answer(isReady ? 200 : 503, { ready: isReady }),
      () => answer(503, { ready: false }),
    );
  });
  server.listen(port, HOST);
  await once(server, 'listening');
  outliveErrors(server, 'the server for probes');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
