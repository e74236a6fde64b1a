import type { Tracing } from './tracing.ts';
import type { TurnMetrics } from './turn-metrics.ts';

/** What tells of turns besides their history. */
export interface Telemetry {
  readonly metrics: TurnMetrics;
  readonly tracing: Tracing | undefined;
}
