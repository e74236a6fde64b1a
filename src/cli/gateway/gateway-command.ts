import { Closing } from '../../../worker/closing.ts';
import { aboutEnvironment, readinessOf } from '../../../worker/environment/environment-gateway.ts';
import { namesServer } from '../../../worker/temporal/client-config.ts';
import { serveGateway } from '../../gateway/index.ts';
import { UsageError } from '../cli-error.ts';
import { openBackend } from '../environment/backend.ts';
import { type LogOptions, operatorLog } from '../environment/operator-log.ts';
import { traceProcess } from '../environment/otlp.ts';
import { gatewaySettingsFor, storeUrl } from '../environment/places.ts';
import { stopSignals } from '../environment/stop-signals.ts';
import { waitForBackend } from '../environment/wait-for-backend.ts';
import { loadGateway } from '../gateway-of-exports.ts';
import { listening } from '../listening.ts';
import { gatewayAccess } from './gateway-access.ts';

export interface GatewayCommandOptions extends LogOptions {
  port: number;
  host: string;
  /** A file that exports `gateway`. */
  config?: string;
  taskQueue: string;
  /** Milliseconds. */
  wait: number;
}

/** `holdfast gateway`: serves until SIGINT or SIGTERM. Returns the exit code. */
export async function gatewayCommand(options: GatewayCommandOptions): Promise<number> {
  const { env } = process;
  const given = options.config === undefined ? undefined : await loadGateway(options.config);
  const settings = gatewaySettingsFor(env, given);
  const logger = operatorLog(options);
  const access = gatewayAccess(env, settings, logger);
  if (storeUrl(env) === undefined || !namesServer(env)) {
    throw new UsageError(
      'holdfast gateway serves a server and a store elsewhere: set TEMPORAL_ADDRESS and HOLDFAST_STORE. An embedded folder ' +
        'has its own gateway while holdfast dev or holdfast worker runs there: dev.json has its address and token',
    );
  }
  const provider = await traceProcess(env, { service: 'holdfast-gateway', logger });
  const note = (line: string) => logger.info(line);
  const signals = stopSignals();
  const closing = new Closing();
  closing.add(() => signals.forget());
  closing.add(() => provider?.shutdown());
  try {
    const opening = waitForBackend(() => openBackend({ folder: '.holdfast', env, onProgress: note }), {
      wait: options.wait,
      note,
    });
    const backend = await Promise.race([opening, signals.first]);
    if (backend === undefined) return 0;
    const { server, store, credentialKeys } = backend;
    closing.add(() => backend.close());
    const serving = serveGateway({
      gateway: {
        client: backend.client(options.taskQueue),
        about: () => aboutEnvironment(backend, options.taskQueue),
        ready: readinessOf(backend),
        access: access.with(store),
        settings,
        records: store,
        ...(credentialKeys === undefined ? {} : { credentialKeys }),
        logger,
      },
      host: options.host,
      port: options.port,
    });
    const served = await listening('--port', serving);
    closing.add(() => served.close());
    logger.info('gateway listens', {
      url: served.url,
      document: `${served.url}/openapi.json`,
      temporal: server.address,
      namespace: server.namespace,
      taskQueue: options.taskQueue,
    });
    // Not through the log, which is kept and read by others.
    if (options.json) {
      const token = access.made === undefined ? {} : { token: access.made };
      process.stdout.write(`${JSON.stringify({ url: served.url, ...token })}\n`);
    } else if (access.made !== undefined) {
      process.stdout.write(`token of this start (HOLDFAST_GATEWAY_TOKEN is not set): ${access.made}\n`);
    }
    await signals.first;
    logger.info('gateway closing');
    await Promise.race([closing.close(), signals.second]);
    return 0;
  } finally {
    await closing.close();
  }
}
