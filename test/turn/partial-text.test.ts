import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LiveText } from '../../activities/model/live-text.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { LiveNotice, PartialText } from '../../src/store/live/live-feed.ts';

const PLACE = { session: 's', runKey: 'e-1', step: 2 };

type Told = LiveNotice & { at: number };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function publisher(attempt = 1) {
  const told: Told[] = [];
  const live = new LiveText(
    { tell: (notice) => told.push({ ...notice, at: performance.now() }) },
    { ...PLACE, attempt },
  );
  const texts = () => told.filter((notice): notice is PartialText & { at: number } => notice.type === 'text');
  return { live, told, texts };
}

function saying(text: string, thought = false): LlmResponse {
  return {
    content: { role: 'model', parts: [thought ? { text, thought } : { text }] },
    partial: true,
  };
}

/** Joins neighbours of one kind: how the text was cut doesn't matter. */
function joined(pieces: readonly { text: string; thought?: boolean }[]): [boolean, string][] {
  const runs: [boolean, string][] = [];
  for (const { text, thought = false } of pieces) {
    const last = runs.at(-1);
    if (last?.[0] === thought) last[1] += text;
    else if (text !== '') runs.push([thought, text]);
  }
  return runs;
}

const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  // Halves of characters, as a model may cut them.
  { weight: 1, arbitrary: fc.constantFrom('\ud83d', '\ude00', 'a\ud83d', '\ude00b', '\0', '') },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('a', 'ü', '漢', '😀'), fc.integer({ min: 1_000, max: 9_000 }))
      .map(([character, times]) => character.repeat(times)),
  },
);
const chunk = fc.record({
  text: anyText,
  thought: fc.boolean(),
  pause: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200 })),
});

describe('what a model is writing', () => {
  test('is told whole and in order, in notices of 7 KiB, 20 a second [stream.text]', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
        const { live, told, texts } = publisher();
        const written: typeof chunks = [];
        let waiting = 0;
        for (const each of chunks) {
          // What comes faster than it can be told is another test's.
          waiting = written.reduce((sum, { text }) => sum + text.length, 0) - lengthOf(texts());
          if (waiting + each.text.length > 60_000) break;
          written.push(each);
          live.add('support', saying(each.text, each.thought));
          vi.advanceTimersByTime(each.pause);
        }
        const before = texts();
        live.end();
        vi.advanceTimersByTime(10_000);

        expect(told.every(({ type }) => type === 'text')).toBe(true);
        expect(joined(texts())).toEqual(joined(written));
        expect(texts().map(({ index }) => index)).toEqual(texts().map((_, index) => index));
        for (const { text, at: _, ...place } of texts()) {
          expect(place).toMatchObject({ ...PLACE, agent: 'support', attempt: 1 });
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(7 * 1024);
          expect(text).not.toBe('');
        }
        expect(texts().map(({ at }) => at)).toEqual(
          texts()
            .map(({ at }) => at)
            .toSorted((a, b) => a - b),
        );
        const gaps = before.slice(1).map(({ at }, index) => at - (before[index]?.at ?? 0));
        expect(gaps.filter((gap) => gap < 50)).toEqual([]);
        const whole = joined(written).every(([, text]) => text.isWellFormed());
        if (whole) expect(texts().filter(({ text }) => !text.isWellFormed())).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('begins at once, and waits for no more than 50 ms after that [stream.text]', () => {
    const { live, told } = publisher();
    live.add('support', saying('one'));
    expect(told).toMatchObject([{ text: 'one', index: 0 }]);
    live.add('support', saying(' two'));
    live.add('support', saying(' three'));
    expect(told).toHaveLength(1);
    vi.advanceTimersByTime(50);
    expect(told).toMatchObject([{ text: 'one' }, { text: ' two three', index: 1 }]);
    vi.advanceTimersByTime(1_000);
    live.add('support', saying(' four'));
    expect(told.at(-1)).toMatchObject({ text: ' four', index: 2 });
  });

  test('is told as a beginning where it comes faster than it can be told [stream.text]', () => {
    const { live, texts } = publisher();
    const text = Array.from({ length: 40_000 }, (_, index) => `${index} `).join('');
    for (let from = 0; from < text.length; from += 1_000) {
      live.add('support', saying(text.slice(from, from + 1_000)));
    }
    live.end();
    const told = texts()
      .map((each) => each.text)
      .join('');
    expect(text.startsWith(told)).toBe(true);
    expect(told.length).toBeGreaterThan(60_000);
    expect(told.length).toBeLessThan(80_000);
  });

  test('says nothing of what is no text, whatever a model yields [stream.text]', () => {
    const { live, told } = publisher();
    const shapes: unknown[] = [
      {},
      { content: null },
      { content: { parts: null } },
      { content: { parts: 'text' } },
      { content: { parts: [null, 1, {}, { text: 1 }, { text: '' }, { functionCall: { name: 'x' } }] } },
    ];
    for (const shape of shapes) live.add('support', shape as LlmResponse);
    live.end();
    expect(told).toEqual([]);
  });
});

describe('text of an attempt that failed', () => {
  test('is dropped, and nothing of it is told later [stream.retry]', () => {
    const { live, told } = publisher(2);
    expect(told).toMatchObject([{ type: 'text dropped', ...PLACE, attempt: 2 }]);
    live.add('support', saying('one'));
    live.add('support', saying('two'));
    live.drop();
    live.drop();
    live.add('support', saying('three'));
    live.end();
    vi.advanceTimersByTime(1_000);
    expect(told.slice(1)).toMatchObject([
      { type: 'text', text: 'one', attempt: 2 },
      { type: 'text dropped', ...PLACE, attempt: 3 },
    ]);
  });

  test('is dropped after its end too, and not where there was none [stream.retry]', () => {
    const one = publisher();
    one.live.add('support', saying('one'));
    one.live.end();
    one.live.drop();
    expect(one.told.at(-1)).toMatchObject({ type: 'text dropped', attempt: 2 });
    const none = publisher();
    none.live.drop();
    expect(none.told).toEqual([]);
  });
});

function lengthOf(texts: readonly { text: string }[]): number {
  return texts.reduce((sum, { text }) => sum + text.length, 0);
}
