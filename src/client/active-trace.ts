import { context, isSpanContextValid, trace } from '@opentelemetry/api';

/**
 * The span that is active where a message is sent, as the W3C's Trace Context writes it: the turn's span is below it. Empty
 * where the program isn't traced.
 *
 * @see https://www.w3.org/TR/trace-context/
 */
export function activeTrace(): { traceparent?: string } {
  const span = trace.getSpanContext(context.active());
  if (span === undefined || !isSpanContextValid(span)) return {};
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  return { traceparent: `00-${span.traceId}-${span.spanId}-${flags}` };
}
