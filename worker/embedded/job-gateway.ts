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
 * Listens on loopback for those who do jobs, and loads the gateway with the first of them: few programs have any. Nobody has a token
 * for more than a job, which the client checks by its own keys, and nothing of it keeps the process up. It is given no records, no
 * settings and no credential keys: without them it has neither links nor an inbox nor API keys, and attests nobody, so that what does a
 * job finds nothing else here.
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
