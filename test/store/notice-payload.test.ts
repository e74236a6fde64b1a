import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoreNotice, ToolChunk } from '../../src/store/live/live-feed.ts';
import {
  channelOf,
  decodeNotice,
  encodeNotice,
  MOST_TEXT_BYTES,
  tellableText,
} from '../../src/store/live/notice-payload.ts';

/** PostgreSQL's own limit, exclusive, and that of a channel's name, inclusive. */
const PAYLOAD_LIMIT = 8_000;
const NAME_LIMIT = 63;

const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 });
const number = fc.nat(1_000_000);
const place = { session: id, runKey: id };

const notices: fc.Arbitrary<StoreNotice> = fc.oneof(
  fc.record({ type: fc.constant('appended'), session: id, seq: number }),
  fc.record({ type: fc.constant('call started'), ...place, callKey: id, tool: id, attempt: number }),
  fc.record({ type: fc.constant('call finished'), ...place, callKey: id, tool: id, failed: fc.boolean() }),
  fc.record(
    {
      ...{ type: fc.constant('job'), ...place, callKey: id, tool: id, jobId: id },
      status: fc.constantFrom('running', 'completed', 'failed', 'cancelled', 'timed_out'),
      mode: fc.constantFrom('started', 'parked', 'detached'),
      progress: fc.record(
        { at: number, value: fc.constantFrom(0, 0.5, 1), message: id },
        { requiredKeys: ['at'] },
      ),
    },
    { requiredKeys: ['type', 'session', 'runKey', 'callKey', 'tool', 'jobId', 'status', 'mode'] },
  ),
  fc.record({ type: fc.constant('text dropped'), ...place, step: number, attempt: number }),
  fc.record({ type: fc.constant('tool chunks dropped'), ...place, callKey: id, attempt: number }),
  fc.record({
    type: fc.constant('tool chunk'),
    ...{ ...place, callKey: id, tool: id, attempt: number, index: number },
    // JSON knows no negative zero.
    content: fc.json().map((json) => JSON.parse(json)),
    metadata: fc.dictionary(id, number),
  }),
);

/** Cut as a publisher does it: whole code points, as many as fit. */
function cut(text: string): string {
  let bytes = 0;
  let kept = '';
  for (const point of text) {
    bytes += Buffer.byteLength(point);
    if (bytes > MOST_TEXT_BYTES) break;
    kept += point;
  }
  return kept;
}

const longTexts = fc
  .tuple(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  )
  .map(([binary, graphemes]) => cut((binary + graphemes).repeat(MOST_TEXT_BYTES)));
const awkward = fc
  .constantFrom('\0', '\u0001', '"', '\\', '\n', '\u2028', '€', '😀', '\ud800', 'a')
  .map((unit) => cut(unit.repeat(MOST_TEXT_BYTES)));
const texts = fc.oneof(fc.string({ unit: 'binary' }), longTexts, awkward);

test('text of any characters, up to 7 KiB, fits into a payload and comes out as it is told [stream.text]', () => {
  fc.assert(
    fc.property(texts, id, fc.boolean(), (text, runKey, thought) => {
      const notice: StoreNotice = {
        ...{
          type: 'text',
          session: 's',
          runKey,
          step: 1,
          agent: '語'.repeat(128),
          attempt: 1,
          index: 7,
          text,
        },
        ...(thought ? { thought } : {}),
      };
      const payload = encodeNotice(notice, 'origin') ?? expect.fail('it does not fit');
      expect(Buffer.byteLength(payload)).toBeLessThan(PAYLOAD_LIMIT);
      expect(payload).not.toContain('\0');
      const { session: _session, ...rest } = notice;
      const sent = Buffer.from(payload).toString('utf8');
      expect(decodeNotice(sent)).toEqual({ origin: 'origin', notice: { ...rest, text: tellableText(text) } });
    }),
    { numRuns: 300 },
  );
});

test('every other notice comes out as it went in, without its session [stream.text]', () => {
  fc.assert(
    fc.property(notices, (notice) => {
      const { session: _session, ...rest } = notice;
      expect(decodeNotice(encodeNotice(notice, 'o') ?? '')).toEqual({ origin: 'o', notice: rest });
    }),
  );
});

test('a chunk of 7 KiB of JSON fits into a payload, whatever is in it [tool.streaming]', () => {
  for (const unit of ['\0', '"', '\n', '\u2028', '€', '😀', '\ud800', 'a']) {
    const times = Math.floor((MOST_TEXT_BYTES - 64) / Buffer.byteLength(JSON.stringify(unit).slice(1, -1)));
    const rest: Omit<ToolChunk, 'session'> = {
      ...{ type: 'tool chunk', runKey: `e-${'A'.repeat(22)}`, callKey: `e-${'A'.repeat(22)}.1000.127` },
      ...{ tool: 't'.repeat(128), attempt: 1_000, index: 100_000, content: unit.repeat(times) },
    };
    const payload = encodeNotice({ ...rest, session: 's' }, 'o'.repeat(12)) ?? expect.fail('it does not fit');
    expect(Buffer.byteLength(payload)).toBeLessThan(PAYLOAD_LIMIT);
    expect(payload).not.toContain('\0');
    expect(decodeNotice(Buffer.from(payload).toString('utf8'))).toEqual({
      origin: 'o'.repeat(12),
      notice: rest,
    });
  }
});

test('what does not fit is not encoded, and what is no notice is not decoded [stream.text]', () => {
  const tool = 'x'.repeat(PAYLOAD_LIMIT);
  const tooLong = {
    type: 'call started',
    session: 's',
    runKey: 'r',
    callKey: 'c',
    tool,
    attempt: 1,
  } as const;
  expect(encodeNotice(tooLong, 'o')).toBeUndefined();
  const strange = [
    '',
    '\n',
    '{}',
    '{}\n',
    '[]\n',
    'null\n',
    '{"origin":"o"}\n',
    '{"origin":"o","type":"toString"}\n',
  ];
  const mistaken = [
    '{"type":"appended","seq":1}\n',
    '{"origin":"o","type":"appended","seq":"1"}\n',
    ...['1', 'null', '{}', '{"at":"1"}'].map(
      (progress) =>
        '{"origin":"o","type":"job","runKey":"r","callKey":"c","tool":"t","jobId":"j","status":"running",' +
        `"mode":"parked","progress":${progress}}\n`,
    ),
    '{"origin',
  ];
  for (const payload of [...strange, ...mistaken]) expect(decodeNotice(payload)).toBeUndefined();
  fc.assert(
    fc.property(fc.string(), (payload) => {
      expect(decodeNotice(payload)).toBeUndefined();
    }),
  );
});

test('channels have names that PostgreSQL takes, one for each session and for the names of one', () => {
  fc.assert(
    fc.property(id, id, id, id, (session, app, userId, sessionId) => {
      const channels = [
        channelOf({ session }),
        channelOf({ session: `${session}.` }),
        channelOf({ names: { app, userId, sessionId } }),
        channelOf({ names: { app: userId, userId: app, sessionId: `${sessionId}.` } }),
      ];
      for (const channel of channels) expect(channel).toMatch(/^[a-z0-9_]+$/);
      for (const channel of channels) expect(channel.length).toBeLessThanOrEqual(NAME_LIMIT);
      expect(new Set(channels).size).toBe(4);
    }),
  );
});
