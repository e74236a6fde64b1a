import { InMemorySpanExporter, SimpleSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Worker } from '@temporalio/worker';
import { afterEach, expect, test, vi } from 'vitest';
import { Tracing } from '../../activities/telemetry/tracing.ts';
import { tracingOf } from '../../worker/tracing-options.ts';
import { endWith } from '../../worker/worker-end.ts';

const SPAN = { name: 'pays', kind: 'internal', attributes: {} } as const;
const TURN = { runKey: 'e-1' };

const processor = (more: Partial<SpanProcessor> = {}): SpanProcessor => ({
  onStart: () => undefined,
  onEnd: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
  ...more,
});

afterEach(() => void vi.useRealTimers());

test('a span processor that throws fails no tool [traces.genai]', async () => {
  const throws = () => {
    throw new Error('no disk');
  };
  const tracing = new Tracing({ spanProcessors: [processor({ onStart: throws, onEnd: throws })] });
  expect(await tracing.within(TURN, SPAN, async () => 'paid')).toBe('paid');
  tracing.turn(TURN, 'turn', Date.now(), {});
});

test('whatever is thrown is passed on as it is, and told by a type at most [traces.genai]', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const getter = Object.defineProperty(new Error(), 'code', {
    get: () => {
      throw new Error('a getter');
    },
  });
  for (const [thrown, type] of [
    [proxy, '_OTHER'],
    [getter, '_OTHER'],
    ['text', '_OTHER'],
    [new RangeError(), 'RangeError'],
    [Object.assign(new Error(), { code: 'ECONNRESET' }), 'ECONNRESET'],
    [Object.assign(new Error(), { code: 'card 4242 refused' }), '_OTHER'],
    [Object.assign(new Error(), { name: 'key sk-live-1' }), '_OTHER'],
  ] as const) {
    const exported = new InMemorySpanExporter();
    const tracing = new Tracing({ spanProcessors: [new SimpleSpanProcessor(exported)] });
    const caught = await tracing
      .within(TURN, SPAN, async () => {
        throw thrown;
      })
      .then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
    expect(Object.is(caught?.error, thrown)).toBe(true);
    expect(exported.getFinishedSpans()[0]?.attributes['error.type']).toBe(type);
  }
});

test('a collector that never answers holds a worker’s end for seconds only [traces.genai]', async () => {
  vi.useFakeTimers();
  const tracing = new Tracing({
    spanProcessors: [processor({ shutdown: () => new Promise(() => undefined) })],
  });
  const worker = { run: async () => undefined } as Worker;
  const warn = vi.fn();
  endWith(worker, {
    deployment: { roots: new Map(), plugins: new Map() },
    tracing,
    logger: { debug: warn, info: warn, warn, error: warn },
  });
  const ended = worker.run();
  await vi.advanceTimersByTimeAsync(5_000);
  await ended;
  expect(warn).toHaveBeenCalledExactlyOnceWith('spans were not exported', {
    reason: 'no end within 5000 ms',
  });
});

test('what is no tracing is refused with its field [traces.genai]', async () => {
  const { onStart: _without, ...half } = processor();
  for (const [options, message] of [
    [{ spanProcessors: [] }, 'tracing.spanProcessors: '],
    [{ spanProcessors: [processor(), half] }, 'tracing.spanProcessors[1]: '],
    [{ spanProcessors: [processor()], resource: { 'service.name': 'shop' } }, 'tracing.resource: '],
    [{ spanProcessors: [processor()], ratio: 2 }, 'tracing.ratio: '],
    [{ spanProcessors: [processor()], content: true }, 'tracing.content: unknown option'],
  ] as const) {
    await expect(tracingOf(options)).rejects.toThrow(message);
  }
});
