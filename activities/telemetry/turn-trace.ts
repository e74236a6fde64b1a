import { createHash } from 'node:crypto';
import { type SpanContext, TraceFlags } from '@opentelemetry/api';

/** Of the W3C's Trace Context, version 00: trace id, parent's span id, flags. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;

/** Where a turn stands in its trace. */
export interface TurnTrace {
  /** Of the span of the whole turn, which the worker that ends it writes. */
  turn: SpanContext;
  /** Of the span in which its client sent the message. */
  sender: SpanContext | undefined;
}

/**
 * The same for every worker that has a part in the turn, so that nothing has to be handed from one to the next: the turn's
 * span id comes from its run key, and so does the trace id of a message that came without `traceparent`.
 */
export function turnTrace(runKey: string, traceparent: string | undefined): TurnTrace {
  const spanId = idOf('span', runKey, 16);
  const [, traceId = '', senderId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(senderId)) {
    const traceFlags = TraceFlags.SAMPLED;
    return { turn: { traceId: idOf('trace', runKey, 32), spanId, traceFlags }, sender: undefined };
  }
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return {
    turn: { traceId, spanId, traceFlags, isRemote: true },
    sender: { traceId, spanId: senderId, traceFlags, isRemote: true },
  };
}

function idOf(kind: 'span' | 'trace', runKey: string, length: number): string {
  return createHash('sha256').update(`${kind} ${runKey}`).digest('hex').slice(0, length);
}
