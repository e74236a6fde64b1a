import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayOptions } from '../../src/gateway/index.ts';
import { outliveErrors } from '../../src/net/outlive-errors.ts';

/** Where services of this machine report jobs. */
export interface JobGateway {
  /** Without a slash at its end. */
  url: string;
  close(): Promise<void>;
}

/**
 * Listens on loopback for the services that do jobs. The gateway is loaded with the first request, because few programs have jobs.
 * Its callers have tokens of single jobs only, which the client checks by its own keys. The listener doesn't keep the process up.
 * The gateway gets no records, no settings and no credential keys. So it has no links, no inbox and no API keys, it attests nobody,
 * and a job's service finds nothing else here.
 */
export async function openJobGateway(options: () => Omit<GatewayOptions, 'access'>): Promise<JobGateway> {
  let loading: Promise<RequestListener> | undefined;
  let endStreams: (() => void) | undefined;
  const load = async (): Promise<RequestListener> => {
    const { createGateway, localAccess } = await import('../../src/gateway/index.ts');
    const { requestListener } = await import('../../src/gateway/serve-gateway.ts');
    const token = randomBytes(32).toString('base64url');
    const gateway = createGateway({ ...options(), access: localAccess({ token }) });
    endStreams = () => gateway.endStreams();
    return requestListener(gateway);
  };
  const server = createServer({ requestTimeout: 60_000, headersTimeout: 15_000 }, (request, response) => {
    loading ??= load();
    loading.then(
      (answer) => answer(request, response),
      (error: unknown) => {
        loading = undefined;
        response.destroy(error instanceof Error ? error : undefined);
      },
    );
  });
  server.on('connection', (socket) => socket.unref());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  server.off('error', reject);
  outliveErrors(server, 'the gateway for jobs');
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      endStreams?.();
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}
