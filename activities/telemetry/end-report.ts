import type { SettleStepInput } from '../../src/protocol/step.ts';
import type { InvocationOutcome } from '../../src/protocol/turn.ts';
import { turnSpan } from './spans.ts';
import type { Telemetry } from './telemetry.ts';

/** Tells of a turn that ends without another model call. */
export function reportEnd(
  { metrics, tracing }: Telemetry,
  { ended, agent, invocationId, runKey, traceparent, tracedBelow, rootWorkflowId }: SettleStepInput,
  outcome: InvocationOutcome | undefined,
): void {
  if (ended === undefined || outcome === undefined) return;
  const { app, beganAt = Date.now() } = ended;
  metrics.runEnded({ app, agent, isChild: rootWorkflowId !== undefined }, outcome, Date.now() - beganAt);
  if (tracing === undefined) return;
  const { name, end } = turnSpan({ agent, invocationId, names: ended }, outcome);
  tracing.turn({ runKey, traceparent, tracedBelow }, name, beganAt, end);
}
