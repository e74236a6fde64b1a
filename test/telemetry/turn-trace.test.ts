import fc from 'fast-check';
import { expect, test } from 'vitest';
import { turnTrace } from '../../activities/telemetry/tracing.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('every worker finds the same ids, and turns have their own [traces.genai]', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(turnTrace(one, undefined)).toEqual(turnTrace(one, undefined));
      expect(turnTrace(one, undefined).turn.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(turnTrace(one, undefined).turn.traceId).toMatch(/^[0-9a-f]{32}$/);
      if (one !== other)
        expect(turnTrace(one, TRACEPARENT).turn.spanId).not.toBe(turnTrace(other, TRACEPARENT).turn.spanId);
    }),
  );
});

test('a sender’s trace is taken up; a malformed one counts as none [traces.genai]', () => {
  expect(turnTrace('e-1', TRACEPARENT).sender?.spanId).toBe('b7ad6b7169203331');
  expect(turnTrace('e-1', TRACEPARENT).turn.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  for (const malformed of ['', 'x', TRACEPARENT.toUpperCase(), `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
    expect(turnTrace('e-1', malformed)).toEqual(turnTrace('e-1', undefined));
  }
});

test('a run below the root is in the root’s trace, below what has begun it [traces.genai]', () => {
  for (const traceparent of [undefined, TRACEPARENT]) {
    const root = turnTrace('e-1', traceparent);
    const below = turnTrace('e-2', traceparent, { root: 'e-1', by: 'e-1' });
    expect(below.turn.traceId).toBe(root.turn.traceId);
    expect(below.sender?.spanId).toBe(root.turn.spanId);
    expect(below.turn.spanId).not.toBe(root.turn.spanId);
    const called = turnTrace('e-3', traceparent, { root: 'e-1', by: 'e-2.1.0' });
    expect(called.turn.traceId).toBe(root.turn.traceId);
    expect(called.sender?.spanId).not.toBe(below.turn.spanId);
  }
});
