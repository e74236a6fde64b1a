import { diag } from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** What a span processor throws must not fail the model call or the tool that the span is of, which would run again. */
export function unfailing(processor: SpanProcessor): SpanProcessor {
  const told = (tell: () => void) => {
    try {
      tell();
    } catch (error) {
      diag.error('holdfast: a span processor has thrown', error);
    }
  };
  return {
    onStart: (span, parent) => told(() => processor.onStart(span, parent)),
    onEnd: (span) => told(() => processor.onEnd(span)),
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  };
}
