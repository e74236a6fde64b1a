import type { TracingOptions, TurnSpanProcessor } from '../../activities/telemetry/tracing.ts';

/** A worker shuts its span processors down when it ends; these get the spans of the next one too. */
export function spansOfAllWorkers(given: TracingOptions): {
  tracing: TracingOptions;
  close: () => Promise<unknown>;
} {
  const { spanProcessors } = given;
  // The worker says what is wrong with them.
  if (!Array.isArray(spanProcessors) || !spanProcessors.every(isObject)) {
    return { tracing: given, close: async () => undefined };
  }
  return {
    tracing: { ...given, spanProcessors: spanProcessors.map(flushedOnly) },
    close: () => Promise.all(spanProcessors.map((processor) => processor.shutdown())),
  };
}

function flushedOnly(processor: TurnSpanProcessor): TurnSpanProcessor {
  return new Proxy(processor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name === 'shutdown' ? 'forceFlush' : name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
