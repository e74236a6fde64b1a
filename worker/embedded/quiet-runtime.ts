import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';

/** Temporal's runtime for a program that isn't about Temporal: it tells errors only, and leaves signals to the program. */
export function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      // Ctrl+C ends the program: what is left is taken away by another one.
      shutdownSignals: [],
      telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
    });
  } catch (error) {
    // The program has installed one of its own, or another environment has.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
