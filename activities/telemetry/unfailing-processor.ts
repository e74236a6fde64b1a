import { type Context, diag, type Span } from '@opentelemetry/api';

/** A `SpanProcessor` of OpenTelemetry's SDK, which whoever traces brings: without it these types are there, too. */
export interface TurnSpanProcessor {
  onStart(span: Span, parent: Context): void;
  onEnd(span: object): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** What a span processor throws must not fail the model call or the tool that the span is of, which would run again. */
export function unfailing(processor: TurnSpanProcessor): TurnSpanProcessor {
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
