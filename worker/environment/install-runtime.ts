import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, makeTelemetryFilterString, Runtime, type RuntimeOptions } from '@temporalio/worker';

/** For a program that isn't about Temporal: errors only, and signals are left to the program. */
export const QUIET_RUNTIME: RuntimeOptions = {
  logger: new DefaultLogger('ERROR'),
  // Ctrl+C ends the program: another process removes what is left.
  shutdownSignals: [],
  telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
};

/**
 * Installs Temporal's runtime, unless the process has one. It lasts until the last connection of a worker is closed, so it is
 * installed just before one is opened: a runtime without any connection would stay, and refuse the program's own.
 */
export function installRuntime(options: RuntimeOptions): void {
  try {
    Runtime.install(options);
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
