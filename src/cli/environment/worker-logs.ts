import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DefaultLogger,
  type Logger,
  type LogLevel,
  type MetricsExporterConfig,
  makeTelemetryFilterString,
  Runtime,
} from '@temporalio/worker';
import type { HoldfastLogger } from '../../../activities/logging.ts';
import { shortCallKey } from '../../protocol/identity.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';

/**
 * Warnings are for the operator's file; what matters to the person at the terminal is told there, as why a step or call has failed that may
 * be tried again. A file that can't be written, because the disk is full for one, must not end what runs: the person is told, once until
 * it can be written again.
 */
export function folderLogger(folder: string, tell: (line: string) => void): DefaultLogger {
  const path = join(folder, 'worker.log');
  let isTold = false;
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const { failures, tool, callKey } = meta ?? {};
    const call = typeof callKey === 'string' ? `${tool} ${shortCallKey(callKey)} failed: ` : '';
    if (failures !== undefined) tell(`  ${call}${visibleExcerpt(message, 300)}`);
    const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    try {
      appendFileSync(path, `${time} ${level} ${message} ${attributesOf(meta)}\n`);
      isTold = false;
    } catch (error) {
      if (!isTold)
        tell(
          `warnings of the worker can't be kept in ${path}: ${thrownMessage(error)}; free space, or see to its rights`,
        );
      isTold = true;
    }
  });
}

/** A line without its attributes, where one is a cycle, is better than none. */
function attributesOf(meta: Record<string | symbol, unknown> = {}): string {
  try {
    return JSON.stringify(meta, errorAsText);
  } catch {
    return JSON.stringify({ attributes: Object.keys(meta) });
  }
}

/** Temporal's own lines in the same log, from warnings on. */
export function temporalLog(logger: HoldfastLogger): DefaultLogger {
  const to: Record<LogLevel, keyof HoldfastLogger> = {
    TRACE: 'debug',
    DEBUG: 'debug',
    INFO: 'info',
    WARN: 'warn',
    ERROR: 'error',
  };
  return new DefaultLogger('WARN', ({ level, message, meta }) => logger[to[level]](message, { ...meta }));
}

export interface RuntimeSettings {
  /** Whether it shuts workers down on SIGINT and SIGTERM; else the caller does. */
  handlesSignals: boolean;
  /** None by default. */
  metrics?: MetricsExporterConfig | undefined;
}

/** Makes Temporal's runtime, before the first worker of the process: one that writes nothing by itself. */
export function installRuntime(logger: Logger, { handlesSignals, metrics }: RuntimeSettings): void {
  Runtime.install({
    logger,
    telemetryOptions: {
      // The SDK's native part writes to standard output by itself unless it is forwarded.
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metrics === undefined ? {} : { metrics }),
    },
    ...(handlesSignals ? {} : { shutdownSignals: [] }),
  });
}

function errorAsText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack || value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
