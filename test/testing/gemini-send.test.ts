import { ApiError, GoogleGenAI } from '@google/genai';
import { expect, onTestFinished, test } from 'vitest';
import {
  blocked,
  call,
  calls,
  disconnect,
  error,
  hang,
  raw,
  reply,
  stopped,
  text,
  thought,
} from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/gemini-script.ts';
import { type MockGeminiOptions, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { until } from '../setup/until.ts';

const MODEL = 'gemini-2.5-flash';

async function start(script: GeminiScript, options: Partial<MockGeminiOptions> = {}) {
  const gemini = await startMockGemini({ script, ...options });
  onTestFinished(() => gemini.close());
  const ai = new GoogleGenAI({ apiKey: 'a-key', httpOptions: { baseUrl: gemini.url } });
  return { gemini, ai };
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  const failure = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(failure).toBeInstanceOf(ApiError);
  return failure as ApiError;
}

test('answers generateContent with text, usage, model version and response id [mock.calls]', async () => {
  const { ai, gemini } = await start([text('Hello there.')]);
  const response = await ai.models.generateContent({ model: MODEL, contents: 'Say hello' });
  expect(response.text).toBe('Hello there.');
  expect(response.candidates?.[0]).toMatchObject({
    finishReason: 'STOP',
    index: 0,
    content: { role: 'model' },
  });
  expect(response.usageMetadata).toEqual({
    promptTokenCount: 3,
    candidatesTokenCount: 3,
    totalTokenCount: 6,
  });
  expect(response.modelVersion).toBe(MODEL);
  expect(response.responseId).toMatch(/^[\w-]{20}$/);
  expect(gemini.refusals).toEqual([]);
});

test('streams text a few words a chunk, with the finish reason in the last [mock.calls]', async () => {
  const sentence = 'one two  three\nfour five six seven eight nine ';
  const { ai } = await start([text(sentence)], { wordsPerChunk: 4 });
  const stream = await ai.models.generateContentStream({ model: MODEL, contents: 'Count' });
  const chunks = await collect(stream);
  expect(chunks.map((chunk) => chunk.text)).toHaveLength(3);
  expect(chunks.map((chunk) => chunk.text).join('')).toBe(sentence);
  expect(chunks.map((chunk) => chunk.candidates?.[0]?.finishReason)).toEqual([undefined, undefined, 'STOP']);
  expect(new Set(chunks.map((chunk) => chunk.responseId)).size).toBe(1);
  const counts = chunks.map((chunk) => chunk.usageMetadata?.candidatesTokenCount ?? 0);
  expect(counts).toEqual([...counts].sort((a, b) => a - b));
  expect(counts.at(-1)).toBe(Math.ceil(sentence.length / 4));
});

test('streams every call whole in a chunk of its own, between text and thoughts [mock.calls]', async () => {
  const { ai } = await start([
    [thought('Two lookups.'), text('Looking.'), call('search', { q: 'a' }), call('fetch', { url: 'b' })],
  ]);
  const chunks = await collect(await ai.models.generateContentStream({ model: MODEL, contents: 'Go' }));
  expect(chunks.map((chunk) => chunk.candidates?.[0]?.content?.parts)).toEqual([
    [{ text: 'Two lookups.', thought: true }],
    [{ text: 'Looking.' }],
    [{ functionCall: { name: 'search', args: { q: 'a' } } }],
    [{ functionCall: { name: 'fetch', args: { url: 'b' } } }],
  ]);
  expect(chunks.at(-1)?.usageMetadata).toMatchObject({ thoughtsTokenCount: 3 });
});

test('gives ids to the calls of Gemini 3, keeps those of the script, and can be told otherwise', async () => {
  const list = () => [calls([{ name: 'a' }, { name: 'b', id: 'mine' }])];
  const idsOf = async (model: string, options: Partial<MockGeminiOptions>) => {
    const { ai } = await start(list(), options);
    const response = await ai.models.generateContent({ model, contents: 'Go' });
    return response.functionCalls?.map(({ id }) => id);
  };
  expect(await idsOf('gemini-3-pro', {})).toEqual([expect.stringMatching(/^[\w-]{8}$/), 'mine']);
  expect(await idsOf('gemini-3-pro', { callIds: false })).toEqual([undefined, 'mine']);
  expect(await idsOf(MODEL, {})).toEqual([undefined, 'mine']);
  expect(await idsOf(MODEL, { callIds: true })).toEqual([expect.any(String), 'mine']);
});

test('answers errors as the API does, with the retry delay in details and header [mock.errors]', async () => {
  const { ai, gemini } = await start(() => error(429, 'Quota exceeded', { retryAfterMs: 1500 }));
  const failure = await failureOf(ai.models.generateContent({ model: MODEL, contents: 'Hi' }));
  expect(failure.status).toBe(429);
  expect(JSON.parse(failure.message)).toEqual({
    error: {
      code: 429,
      message: 'Quota exceeded',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }],
    },
  });
  const streamed = await failureOf(ai.models.generateContentStream({ model: MODEL, contents: 'Hi' }));
  expect(streamed.status).toBe(429);
  const response = await fetch(`${gemini.url}/v1beta/models/${MODEL}:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'a-key' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
  });
  expect(response.headers.get('retry-after')).toBe('2');
  expect(gemini.refusals).toEqual([]);
});

test("lets the SDK's own retries see a passing error", async () => {
  const { gemini } = await start([error(503, 'Overloaded'), text('Back again')]);
  const ai = new GoogleGenAI({
    apiKey: 'a-key',
    httpOptions: { baseUrl: gemini.url, retryOptions: { attempts: 2, initialDelay: 0.001 } },
  });
  expect((await ai.models.generateContent({ model: MODEL, contents: 'Hi' })).text).toBe('Back again');
});

test('breaks a stream off with an error chunk [mock.errors]', async () => {
  const { ai } = await start([error(503, 'Overloaded', { after: text('one two three four five') })]);
  const stream = await ai.models.generateContentStream({ model: MODEL, contents: 'Hi' });
  const seen: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const chunk of stream) {
      expect(chunk.candidates?.[0]?.finishReason).toBeUndefined();
      seen.push(chunk.text);
    }
  })();
  const failure = await failureOf(reading);
  expect(failure.status).toBe(503);
  expect(failure.message).toContain('Overloaded');
  expect(seen.join('')).toBe('one two three four five');
});

test('blocks a prompt and stops a candidate', async () => {
  const { ai } = await start([
    blocked('PROHIBITED_CONTENT'),
    stopped('SAFETY'),
    stopped('MAX_TOKENS', 'Cut of'),
  ]);
  const request = { model: MODEL, contents: 'Hi' };
  const prompt = await ai.models.generateContent(request);
  expect(prompt.promptFeedback).toEqual({ blockReason: 'PROHIBITED_CONTENT' });
  expect(prompt.candidates).toBeUndefined();
  const [safety] = await collect(await ai.models.generateContentStream(request));
  expect(safety?.candidates).toEqual([{ finishReason: 'SAFETY', index: 0 }]);
  const cut = await ai.models.generateContent(request);
  expect(cut.text).toBe('Cut of');
  expect(cut.candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
});

test('sends raw responses as they are, a list as chunks', async () => {
  const chunk = (value: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: value }] } }],
  });
  const { ai } = await start(() => raw([chunk('a'), { ...chunk('b'), modelVersion: 'x' }]));
  const request = { model: MODEL, contents: 'Hi' };
  const chunks = await collect(await ai.models.generateContentStream(request));
  expect(chunks.map((item) => item.text)).toEqual(['a', 'b']);
  const whole = await ai.models.generateContent(request);
  expect([whole.text, whole.modelVersion]).toEqual(['ab', 'x']);
});

test('cuts the connection before, and in the midst of, an answer [mock.errors]', async () => {
  const { ai, gemini } = await start([
    disconnect(),
    disconnect(text('whole answer')),
    disconnect(text('one two three four five six seven eight'), { afterChunks: 1 }),
  ]);
  const request = { model: MODEL, contents: 'Hi' };
  await expect(ai.models.generateContent(request)).rejects.toThrow();
  await expect(ai.models.generateContent(request)).rejects.toThrow();
  const stream = await ai.models.generateContentStream(request);
  const seen: (string | undefined)[] = [];
  await expect(
    (async () => {
      for await (const chunk of stream) seen.push(chunk.text);
    })(),
  ).rejects.toThrow();
  expect(seen).toEqual(['one two three four ']);
  expect(gemini.requests.map(({ aborted }) => aborted)).toEqual([false, false, false]);
});

test('notes a client that goes away, and tells the script', async () => {
  let signal: AbortSignal | undefined;
  const { ai, gemini } = await start((_, info) => {
    signal = info.signal;
    return hang();
  });
  const abort = new AbortController();
  const config = { abortSignal: abort.signal };
  const asked = ai.models.generateContent({ model: MODEL, contents: 'Hi', config });
  await gemini.waitForRequests(1);
  abort.abort();
  await expect(asked).rejects.toThrow();
  await until(() => expect(gemini.requests[0]?.aborted).toBe(true));
  expect(signal?.aborted).toBe(true);
  expect(gemini.requests[0]?.answeredAt).toBeUndefined();
  expect(gemini.refusals).toEqual([]);
});

test('notes a client that leaves in the midst of a stream', async () => {
  const { ai, gemini } = await start([reply(text('a b c d e f'), { wordsPerChunk: 1, chunkDelayMs: 20 })]);
  const abort = new AbortController();
  const config = { abortSignal: abort.signal };
  const stream = await ai.models.generateContentStream({ model: MODEL, contents: 'Hi', config });
  await expect(
    (async () => {
      for await (const _ of stream) abort.abort();
    })(),
  ).rejects.toThrow();
  await until(() => expect(gemini.requests[0]?.aborted).toBe(true));
  expect(gemini.refusals).toEqual([]);
});

test('clients that leave long streams are noted, and are no failures', async () => {
  const { ai, gemini } = await start(() => reply(text('word '.repeat(20_000)), { wordsPerChunk: 4 }));
  const leave = async () => {
    const abort = new AbortController();
    const config = { abortSignal: abort.signal };
    const stream = await ai.models.generateContentStream({ model: MODEL, contents: 'Hi', config });
    for await (const _ of stream) abort.abort();
  };
  await Promise.allSettled(Array.from({ length: 20 }, leave));
  await until(() => {
    const open = gemini.requests.filter(({ aborted, answeredAt }) => !aborted && answeredAt === undefined);
    expect(open).toEqual([]);
  });
  expect(gemini.requests.some(({ aborted }) => aborted)).toBe(true);
  expect(gemini.refusals).toEqual([]);
});

test('waits before the first byte and between chunks [mock.pace]', async () => {
  const { ai, gemini } = await start([
    reply(text('a b c'), { latencyMs: 60, chunkDelayMs: 40, wordsPerChunk: 1 }),
  ]);
  const stream = await ai.models.generateContentStream({ model: MODEL, contents: 'Hi' });
  expect(await collect(stream)).toHaveLength(3);
  await until(() => expect(gemini.requests[0]?.answeredAt).toEqual(expect.any(Number)));
  const { receivedAt = 0, answeredAt = 0 } = gemini.requests[0] ?? {};
  expect(answeredAt - receivedAt).toBeGreaterThanOrEqual(135);
});

test('streams a JSON array to a client that asks for no events', async () => {
  const { gemini } = await start([text('one two three')], { wordsPerChunk: 1 });
  const response = await fetch(`${gemini.url}/v1beta/models/${MODEL}:streamGenerateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'k' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
  });
  expect(await response.json()).toHaveLength(3);
});

test('takes usage from the script', async () => {
  const usage = { promptTokenCount: 900, candidatesTokenCount: 100, cachedContentTokenCount: 400 };
  const { ai } = await start(() => reply(text('one two three four five'), { usage }));
  const request = { model: MODEL, contents: 'Hi' };
  const expected = { ...usage, totalTokenCount: 1000 };
  expect((await ai.models.generateContent(request)).usageMetadata).toEqual(expected);
  const chunks = await collect(await ai.models.generateContentStream(request));
  expect(chunks.at(-1)?.usageMetadata).toEqual(expected);
});
