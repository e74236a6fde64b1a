import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LiveChunks } from '../../activities/tool/live-chunks.ts';
import type { LiveNotice, ToolChunk as ToldChunk } from '../../src/store/live/live-feed.ts';
import type { ToolChunk } from '../../src/tools/base-tool.ts';

const PLACE = { session: 's', runKey: 'e-1', callKey: 'e-1.2.0', tool: 'watch' };
const MOST_BYTES = 7 * 1024;

type Told = LiveNotice & { at: number };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function publisher(attempt = 1) {
  const told: Told[] = [];
  const live = new LiveChunks(
    { tell: (notice) => told.push({ ...notice, at: performance.now() }) },
    { ...PLACE, attempt },
  );
  const chunks = () =>
    told.filter((notice): notice is ToldChunk & { at: number } => notice.type === 'tool chunk');
  return { live, told, chunks };
}

const says = (content: unknown): ToolChunk => ({ content, streaming: true });

type Said = Pick<ToolChunk, 'content' | 'error' | 'metadata'>;

/** Neighbouring plain texts joined: how text was cut doesn't matter. */
function joined(pieces: readonly Said[]): Said[] {
  const all: (Said & { isOpen: boolean })[] = [];
  for (const { content, error, metadata } of pieces) {
    const last = all.at(-1);
    const isEmpty = content === '' && error === undefined && metadata === undefined;
    const isOpen = typeof content === 'string' && error === undefined && metadata === undefined;
    const said = { content, isOpen, ...(error && { error }), ...(metadata && { metadata }) };
    if (isEmpty) continue;
    if (last?.isOpen && typeof content === 'string')
      all[all.length - 1] = { ...said, content: `${last.content}${content}` };
    else all.push(said);
  }
  return all.map(({ isOpen: _, ...said }) => said);
}

const texts = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('a', '\0', '"', '漢', '😀', '\ud800'), fc.integer({ min: 500, max: 6_000 }))
      .map(([character, times]) => character.repeat(times)),
  },
);
const yielded = fc.record({
  chunk: fc.record(
    {
      content: fc.oneof({ weight: 3, arbitrary: texts }, { weight: 1, arbitrary: fc.jsonValue() }),
      error: fc.constantFrom('late', 'not there'),
      metadata: fc.dictionary(fc.string({ maxLength: 5 }), fc.integer(), { maxKeys: 3 }),
    },
    { requiredKeys: ['content'] },
  ),
  pause: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200 })),
});

describe('what a tool yields', () => {
  test('is told whole and in order, in notices of 7 KiB of JSON, 20 a second [tool.streaming]', () => {
    fc.assert(
      fc.property(fc.array(yielded, { maxLength: 12 }), (all) => {
        const { live, told, chunks } = publisher();
        const given: ToolChunk[] = [];
        let bytes = 0;
        for (const { chunk, pause } of all) {
          // What comes faster than it can be told is another test's.
          bytes += Buffer.byteLength(JSON.stringify(chunk)) + 64;
          if (bytes > 60 * 1024) break;
          given.push({ ...chunk, streaming: true });
          live.add({ ...chunk, streaming: true });
          vi.advanceTimersByTime(pause);
        }
        const before = chunks();
        live.end();
        vi.advanceTimersByTime(10_000);

        expect(told.every(({ type }) => type === 'tool chunk')).toBe(true);
        expect(joined(chunks())).toEqual(joined(JSON.parse(JSON.stringify(given))));
        expect(chunks().map(({ index }) => index)).toEqual(chunks().map((_, index) => index));
        for (const { content, error, metadata, ...place } of chunks()) {
          expect(place).toMatchObject({ ...PLACE, attempt: 1 });
          expect(Buffer.byteLength(JSON.stringify({ content, error, metadata }))).toBeLessThanOrEqual(
            MOST_BYTES,
          );
        }
        const gaps = before.slice(1).map(({ at }, index) => at - (before[index]?.at ?? 0));
        expect(gaps.filter((gap) => gap < 50)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('begins at once; neighbouring texts of a tick are one [tool.streaming]', () => {
    const { live, told } = publisher();
    live.add(says('one'));
    expect(told).toMatchObject([{ content: 'one', index: 0 }]);
    for (const content of [' two', ' three', { done: 2 }, ' four']) live.add(says(content));
    expect(told).toHaveLength(1);
    vi.advanceTimersByTime(50);
    expect(told.at(-1)).toMatchObject({ content: ' two three', index: 1 });
    vi.advanceTimersByTime(100);
    expect(told.slice(2)).toMatchObject([
      { content: { done: 2 }, index: 2 },
      { content: ' four', index: 3 },
    ]);
  });

  test('is a word about its size where it is large and no text, or about what JSON can’t carry [tool.streaming]', () => {
    const { live, chunks } = publisher();
    const loop: unknown[] = [];
    loop.push(loop);
    for (const content of [{ rows: 'x'.repeat(9_000) }, () => 1, 1n, loop, new Uint8Array(3), undefined]) {
      live.add(says(content));
    }
    live.end();
    expect(chunks().map(({ content }) => content)).toEqual([
      { omitted: '9011 bytes of JSON' },
      { omitted: expect.stringContaining('function') },
      { omitted: expect.stringContaining('bigint') },
      { omitted: expect.stringContaining('refers back') },
      { omitted: expect.stringContaining('binary') },
    ]);
  });

  test('has a gap in its index where it comes faster than it can be told [tool.streaming]', () => {
    const { live, chunks } = publisher();
    for (let n = 0; n < 200; n++) live.add(says('x'.repeat(1_000)));
    vi.advanceTimersByTime(2_000);
    live.add(says('the end'));
    live.end();
    const told = chunks();
    expect(told.reduce((sum, { content }) => sum + String(content).length, 0)).toBeLessThan(80_000);
    expect(told.at(-1)).toMatchObject({ content: 'the end', index: told.length });
    expect(told.at(-2)).toMatchObject({ index: told.length - 2 });
  });

  test('that came to nothing is dropped, once, and nothing comes behind [tool.streaming]', () => {
    const one = publisher(2);
    one.live.add(says('a'));
    one.live.add(says('b'));
    one.live.drop();
    one.live.drop();
    one.live.add(says('c'));
    vi.advanceTimersByTime(1_000);
    const { callKey, session, runKey } = PLACE;
    expect(one.told).toMatchObject([
      { type: 'tool chunk', attempt: 2, content: 'a' },
      { type: 'tool chunks dropped', session, runKey, callKey, attempt: 3 },
    ]);
    const silent = publisher();
    silent.live.drop();
    silent.live.add(says('c'));
    expect(silent.told).toEqual([]);
  });

  test('the result itself is no chunk: its response tells it [tool.streaming]', () => {
    const { live, told } = publisher();
    live.add({ content: 'all of it', streaming: false });
    live.end();
    expect(told).toEqual([]);
  });
});
