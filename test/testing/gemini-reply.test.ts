import { expect, test } from 'vitest';
import { blocked, call, calls, error, reply, text, toReply } from '../../src/testing/gemini-reply.ts';

test('a list of model output is one reply [mock.script]', () => {
  expect(toReply([text('Looking.'), call('search', { q: 'x' }, { id: 'c1' })])).toEqual({
    kind: 'content',
    parts: [
      { part: { text: 'Looking.' } },
      { part: { functionCall: { id: 'c1', name: 'search', args: { q: 'x' } } } },
    ],
  });
});

test('calls() is call() for each', () => {
  expect(calls([{ name: 'a' }, { name: 'b', args: { x: 1 }, id: '2' }])).toEqual(
    toReply([call('a'), call('b', { x: 1 }, { id: '2' })]),
  );
});

test('reply() keeps options of what it wraps unless it replaces them', () => {
  const inner = reply(text('a'), { latencyMs: 5, finishReason: 'MAX_TOKENS' });
  expect(reply(inner, { chunkDelayMs: 7 })).toMatchObject({
    finishReason: 'MAX_TOKENS',
    pace: { latencyMs: 5, chunkDelayMs: 7 },
  });
});

test.each([
  ['an error inside of a list', () => toReply([text('a'), error(500)] as never), "kind 'error'"],
  ['a string', () => toReply('hello' as never), 'got string'],
  ['null', () => toReply(null as never), 'got null'],
  ['a status that is no error', () => error(200), '400 to 599'],
  ['usage for a blocked prompt', () => reply(blocked(), { usage: {} }), "kind 'blocked'"],
  ['a negative latency', () => reply(text('a'), { latencyMs: -1 }), 'latencyMs'],
])('refuses %s', (_, act, message) => {
  expect(act).toThrow(expect.objectContaining({ code: 'MOCK_GEMINI_BAD_REPLY' }));
  expect(act).toThrow(message);
});
