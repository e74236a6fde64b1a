import { createHash } from 'node:crypto';
import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { TracedBelow } from '../../src/protocol/agent-run.ts';

/** Of the W3C's Trace Context, version 00: trace id, parent's span id, flags. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;

/** Where a turn stands in its trace. */
export interface TurnTrace {
  /** Of the span of the whole turn, which the worker that ends it writes. */
  turn: SpanContext;
  /** Of the span in which its client sent the message, or of what has begun it in the turn. */
  sender: SpanContext | undefined;
}

/**
 * The same for every worker that has a part in the turn, so that nothing has to be handed from one to the next: the turn's
 * span id comes from its run key, and so does the trace id of a message that came without `traceparent`. A run below the root
 * is in the root's trace, below what has begun it.
 */
export function turnTrace(
  runKey: string,
  traceparent: string | undefined,
  below?: Pick<TracedBelow, 'root' | 'by'>,
): TurnTrace {
  const spanId = spanIdOf(runKey);
  const [, traceId = '', senderId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(senderId)) {
    const own = { traceId: idOf('trace', below?.root ?? runKey, 32), traceFlags: TraceFlags.SAMPLED };
    const sender = below === undefined ? undefined : { ...own, spanId: spanIdOf(below.by) };
    return { turn: { ...own, spanId }, sender };
  }
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const above = below === undefined ? senderId : spanIdOf(below.by);
  return {
    turn: { traceId, spanId, traceFlags, isRemote: true },
    sender: { traceId, spanId: above, traceFlags, isRemote: true },
  };
}

/** Of the span of a run, or of the call of an agent's tool, which others write their own below. */
export function spanIdOf(key: string): string {
  return idOf('span', key, 16);
}

function idOf(kind: 'span' | 'trace', runKey: string, length: number): string {
  return createHash('sha256').update(`${kind} ${runKey}`).digest('hex').slice(0, length);
}
