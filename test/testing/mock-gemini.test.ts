import { connect, createServer } from 'node:net';
import { ApiError, GoogleGenAI } from '@google/genai';
import { expect, onTestFinished, test, vi } from 'vitest';
import { call, hang, reply, text } from '../../src/testing/gemini-reply.ts';
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

test('answers in list order whatever the kind of call, and refuses a request past the end [mock.script]', async () => {
  const { ai, gemini } = await start([text('first'), text('second')]);
  const request = { model: MODEL, contents: 'Hi' };
  expect((await ai.models.generateContent(request)).text).toBe('first');
  expect((await collect(await ai.models.generateContentStream(request)))[0]?.text).toBe('second');
  const failure = await failureOf(ai.models.generateContent(request));
  expect(failure.status).toBe(400);
  expect(failure.message).toContain('script exhausted: 2 replies, this is request 3');
  expect(gemini.requests).toHaveLength(3);
  expect(gemini.refusals).toMatchObject([{ code: 400 }]);
});

test('gives a script function the request and what it usually asks of it [mock.script]', async () => {
  const { ai } = await start((request, info) => {
    const [result] = info.functionResponses;
    if (!result) return call('get_weather', { city: info.userText });
    expect(request.tools?.[0]?.functionDeclarations?.[0]?.name).toBe('get_weather');
    expect(request.systemInstruction?.parts?.[0]?.text).toBe('Be brief.');
    expect(request.generationConfig?.temperature).toBe(0.5);
    expect(info).toMatchObject({ index: 1, streaming: true, userText: 'Tartu' });
    return Promise.resolve(text(`It is ${JSON.stringify(result.response)}`));
  });
  const config = {
    systemInstruction: 'Be brief.',
    temperature: 0.5,
    tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: { type: 'object' } }] }],
  };
  const user = { role: 'user', parts: [{ text: 'Tartu' }] };
  const first = await ai.models.generateContent({ model: MODEL, contents: [user], config });
  expect(first.functionCalls).toEqual([{ name: 'get_weather', args: { city: 'Tartu' } }]);
  const model = first.candidates?.[0]?.content ?? {};
  const answer = {
    role: 'user',
    parts: [{ functionResponse: { name: 'get_weather', response: { sky: 'clear' } } }],
  };
  const stream = await ai.models.generateContentStream({
    model: MODEL,
    contents: [user, model, answer],
    config,
  });
  expect((await collect(stream)).map((chunk) => chunk.text).join('')).toBe('It is {"sky":"clear"}');
});

test('a script sees all responses of the turn, the newest step’s first', async () => {
  const seen: unknown[] = [];
  const { ai } = await start((_, { userText, functionResponses }) => {
    seen.push([userText, ...functionResponses.map(({ name }) => name)]);
    return text('ok');
  });
  const said = (words: string) => ({ role: 'user', parts: [{ text: words }] });
  const called = (...names: string[]) => [
    { role: 'model', parts: names.map((name) => ({ functionCall: { name, args: {} } })) },
    { role: 'user', parts: names.map((name) => ({ functionResponse: { name, response: {} } })) },
  ];
  const contents = [said('Hi'), ...called('a', 'b'), ...called('c')];
  await ai.models.generateContent({ model: MODEL, contents });
  await ai.models.generateContent({ model: MODEL, contents: [...contents, said('And now?')] });
  expect(seen).toEqual([['Hi', 'c', 'a', 'b'], ['And now?']]);
});

test('a script that rejects because the client left is nobody’s failure', async () => {
  const { ai, gemini } = await start(async (_, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  });
  const abort = new AbortController();
  const asked = ai.models.generateContent({
    model: MODEL,
    contents: 'Hi',
    config: { abortSignal: abort.signal },
  });
  await gemini.waitForRequests(1);
  abort.abort();
  await expect(asked).rejects.toThrow();
  await until(() => expect(gemini.requests[0]?.aborted).toBe(true));
  expect(gemini.refusals).toEqual([]);
});

test('records requests without credentials [mock.records]', async () => {
  const { ai, gemini } = await start([text('ok')]);
  await ai.models.generateContent({
    model: MODEL,
    contents: 'Hi',
    config: { httpOptions: { headers: { 'x-trace': 't1', authorization: 'Bearer secret' } } },
  });
  const [request] = gemini.requests;
  expect(request).toMatchObject({
    index: 0,
    model: MODEL,
    streaming: false,
    path: `/v1/models/${MODEL}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    headers: { 'x-trace': 't1', 'content-type': 'application/json' },
    aborted: false,
  });
  expect(JSON.stringify(request)).not.toMatch(/a-key|secret/);
});

test('wants a key: any, or the one it was given', async () => {
  const { gemini } = await start(() => text('ok'), { apiKey: 'right' });
  expect(gemini.env).toEqual({ GOOGLE_GEMINI_BASE_URL: gemini.url, GEMINI_API_KEY: 'right' });
  const post = (headers: Record<string, string>, query = '') =>
    fetch(`${gemini.url}/v1/models/${MODEL}:generateContent${query}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
    });
  const anonymous = await post({});
  expect(anonymous.status).toBe(403);
  expect(await anonymous.json()).toMatchObject({ error: { code: 403, status: 'PERMISSION_DENIED' } });
  const wrong = await post({ 'x-goog-api-key': 'wrong' });
  expect(wrong.status).toBe(400);
  const body = await wrong.json();
  expect(body).toMatchObject({
    error: {
      message: 'API key not valid. Please pass a valid API key.',
      details: [{ reason: 'API_KEY_INVALID' }],
    },
  });
  expect(JSON.stringify(gemini.refusals)).not.toContain('wrong');
  expect((await post({ 'x-goog-api-key': 'right' })).status).toBe(200);
  expect((await post({}, '?key=right')).status).toBe(200);
});

test('is found through the environment [mock.calls]', async () => {
  const { gemini } = await start([text('ok')]);
  for (const [name, value] of Object.entries(gemini.env)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const response = await new GoogleGenAI({}).models.generateContent({ model: MODEL, contents: 'Hi' });
  expect(response.text).toBe('ok');
});

test('speaks to Vertex clients, with a project or an express key', async () => {
  const { gemini } = await start(() => text('ok'));
  const httpOptions = { baseUrl: gemini.url };
  const express = new GoogleGenAI({ vertexai: true, apiKey: 'a-key', httpOptions });
  expect((await express.models.generateContent({ model: MODEL, contents: 'Hi' })).text).toBe('ok');
  const path = `/v1beta1/projects/p/locations/l/publishers/google/models/${MODEL}:streamGenerateContent?alt=sse`;
  const response = await fetch(gemini.url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer token' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(await response.text()).toMatch(/^data: \{.*"text":"ok".*\}\r\n\r\n$/);
  expect(gemini.requests.map(({ model }) => model)).toEqual([MODEL, MODEL]);
});

test('answers 404 elsewhere', async () => {
  const { gemini } = await start([]);
  for (const [method, path] of [
    ['GET', `/v1beta/models/${MODEL}:generateContent`],
    ['POST', `/v1beta/models/${MODEL}:embedContent`],
    ['POST', '/'],
  ]) {
    const response = await fetch(gemini.url + path, { method, headers: { 'x-goog-api-key': 'k' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { status: 'NOT_FOUND' } });
  }
});

test('survives a path that is no URL', async () => {
  const { ai, gemini } = await start([text('ok')]);
  const socket = connect(Number(new URL(gemini.url).port), '127.0.0.1');
  socket.end('GET //[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 404 /);
  expect((await ai.models.generateContent({ model: MODEL, contents: 'Hi' })).text).toBe('ok');
});

test('serves 100 requests at once, each with its own place', async () => {
  const { ai, gemini } = await start(async (_, { index, userText }) => {
    await gemini.waitForRequests(100);
    return text(`${index}:${userText}`);
  });
  const asked = Array.from({ length: 100 }, (_, index) =>
    ai.models.generateContent({ model: MODEL, contents: `question ${index}` }),
  );
  const texts = (await Promise.all(asked)).map((response) => response.text ?? '');
  expect(texts.map((value) => value.replace(/^\d+:/, ''))).toEqual(asked.map((_, i) => `question ${i}`));
  expect(new Set(texts.map((value) => value.split(':')[0])).size).toBe(100);
});

test('takes bodies up to 20 MB and says so above', async () => {
  const { ai, gemini } = await start(() => text('ok'));
  const ask = (bytes: number) => ai.models.generateContent({ model: MODEL, contents: 'x'.repeat(bytes) });
  const response = await ask(20_000_000);
  expect(response.usageMetadata?.promptTokenCount).toBe(5_000_000);
  const failure = await failureOf(ask(21_000_000));
  expect(failure.message).toContain('Request payload size exceeds the limit: 20971520 bytes.');
  expect(gemini.requests).toHaveLength(1);
});

test('waitForRequests says how far it got when its time is over', async () => {
  const { ai, gemini } = await start([text('ok')]);
  await ai.models.generateContent({ model: MODEL, contents: 'Hi' });
  expect(await gemini.waitForRequests(1)).toHaveLength(1);
  await expect(gemini.waitForRequests(2, { timeoutMs: 10 })).rejects.toMatchObject({
    code: 'MOCK_GEMINI_WAIT_TIMEOUT',
    message: expect.stringContaining('1 of 2 requests arrived'),
  });
});

test('close ends what is open, once and for all', async () => {
  const { ai, gemini } = await start([hang(), reply(text('late'), { latencyMs: 60_000 })]);
  const request = { model: MODEL, contents: 'Hi' };
  const asked = [ai.models.generateContent(request), ai.models.generateContent(request)];
  const outcomes = Promise.allSettled(asked);
  await gemini.waitForRequests(2);
  const waiting = expect(gemini.waitForRequests(3)).rejects.toMatchObject({ code: 'MOCK_GEMINI_CLOSED' });
  await Promise.all([gemini.close(), gemini.close()]);
  await waiting;
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(gemini.requests.map(({ aborted }) => aborted)).toEqual([false, false]);
  await gemini.close();
  await gemini[Symbol.asyncDispose]();
  await expect(fetch(gemini.url)).rejects.toThrow();
  await expect(gemini.waitForRequests(9)).rejects.toMatchObject({ code: 'MOCK_GEMINI_CLOSED' });
});

test('reset starts over', async () => {
  const { ai, gemini } = await start([text('one')]);
  const ask = async () => (await ai.models.generateContent({ model: MODEL, contents: 'Hi' })).text;
  expect(await ask()).toBe('one');
  gemini.reset();
  expect(gemini.requests).toEqual([]);
  expect(await ask()).toBe('one');
  gemini.reset([text('two')]);
  expect(await ask()).toBe('two');
});

test('a failing script is the test’s mistake: 400, with the cause kept', async () => {
  const problem = new Error('no such city');
  const { ai, gemini } = await start(() => {
    throw problem;
  });
  const failure = await failureOf(ai.models.generateContent({ model: MODEL, contents: 'Hi' }));
  expect(failure.status).toBe(400);
  expect(failure.message).toContain("The mock server's script failed on request 1: no such city");
  expect(gemini.refusals[0]?.cause).toBe(problem);
});

test('a script that returns nothing is told what to return', async () => {
  const { ai } = await start((() => undefined) as unknown as GeminiScript);
  const failure = await failureOf(ai.models.generateContent({ model: MODEL, contents: 'Hi' }));
  expect(failure.message).toContain('expected a reply made by text(), call(), error() or another builder');
});

test.each([
  ['script', { script: 'hello' }],
  ['port', { script: [], port: 70_000 }],
  ['apiKey', { script: [], apiKey: '' }],
  ['latencyMs', { script: [], latencyMs: -1 }],
  ['chunkDelayMs', { script: [], chunkDelayMs: Number.NaN }],
  ['wordsPerChunk', { script: [], wordsPerChunk: 0 }],
])('refuses a bad %s', async (field, options) => {
  await expect(startMockGemini(options as unknown as MockGeminiOptions)).rejects.toMatchObject({
    code: 'MOCK_GEMINI_BAD_OPTION',
    message: expect.stringContaining(field),
  });
});

test('a port that is taken is the system’s error', async () => {
  const other = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  other.listen(0, '127.0.0.1', resolve);
  await promise;
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  await expect(startMockGemini({ script: [], port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
