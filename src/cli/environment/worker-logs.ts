import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, type Logger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { HoldfastLogger } from '../../../worker/index.ts';

/** The SDK's own warnings are for the operator's file; what matters to the person at the terminal is told there. */
export function folderLogger(folder: string): DefaultLogger {
  const path = join(folder, 'worker.log');
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    appendFileSync(path, `${time} ${level} ${message} ${JSON.stringify(meta ?? {}, errorAsText)}\n`);
  });
}

/** Without a folder there is no file for the operator; the terminal gets a line. */
export function lineLogger(onLine: (line: string) => void): HoldfastLogger {
  const told = (message: string) => onLine(message);
  const untold = () => undefined;
  return { debug: untold, info: untold, warn: told, error: told };
}

export interface RuntimeSettings {
  /** Whether it shuts workers down on SIGINT and SIGTERM; else the caller does. */
  handlesSignals: boolean;
  /** Where Prometheus reads metrics, `host:port`; none by default. */
  metrics?: string | undefined;
}

/** Makes Temporal's runtime, before the first worker of the process: one that writes nothing by itself. */
export function installRuntime(logger: Logger, { handlesSignals, metrics }: RuntimeSettings): void {
  Runtime.install({
    logger,
    telemetryOptions: {
      // The SDK's native part writes to standard output by itself unless it is forwarded.
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metrics === undefined ? {} : { metrics: { prometheus: { bindAddress: metrics } } }),
    },
    ...(handlesSignals ? {} : { shutdownSignals: [] }),
  });
}

function errorAsText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack || value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
