import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { GeminiEmbeddings } from '../../src/memory/gemini-embeddings.ts';
import type { ModelError } from '../../src/models/model-errors.ts';
import { error, hang } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { failure, geminiAt, request, userText } from './ask.ts';
import { sendJson, startRawServer } from './raw-server.ts';

test.each<[number, string, boolean, boolean]>([
  [400, 'bad_request', false, true],
  [401, 'authentication', false, true],
  [403, 'authentication', false, true],
  [404, 'not_found', false, true],
  [408, 'timeout', true, true],
  [409, 'conflict', true, true],
  [413, 'bad_request', false, true],
  [429, 'rate_limited', true, false],
  [500, 'unavailable', true, true],
  [502, 'unavailable', true, true],
  [503, 'unavailable', true, true],
  [504, 'timeout', true, true],
])('%i is %s, retryable %s, counts %s [model.errors]', async (status, kind, retryable, countsAsFailure) => {
  await using gemini = await startMockGemini({ script: [error(status, 'What the provider says.')] });

  const { error: failed, responses } = await failure(geminiAt(gemini.url));

  expect(failed).toMatchObject({
    name: 'ModelError',
    code: `HOLDFAST_MODEL_${kind.toUpperCase()}`,
    kind,
    status,
    retryable,
    countsAsFailure,
  });
  expect(failed.message).toContain(`(${status}`);
  expect(failed.message).toContain('What the provider says.');
  expect(responses).toEqual([]);
});

test('a redirect takes the key nowhere, and names where it leads [model.errors]', async () => {
  await using other = await startRawServer((response) => sendJson(response, 200, {}));
  await using provider = await startRawServer((response, { path }) => {
    response.writeHead(307, { location: `${other.url}${path}?key=of-the-redirect` }).end('moved');
  });
  const said = `127.0.0.1:${new URL(provider.url).port} answered 307 and redirects to ${other.url}: `;

  const { error: failed } = await failure(geminiAt(provider.url));
  const connection = { apiKey: 'test-key', httpOptions: { baseUrl: provider.url } };
  const embeddings = new GeminiEmbeddings({ embeddingModel: 'e', ...connection });
  const embedding = embeddings.embed(['a'], { purpose: 'query', signal: new AbortController().signal });

  expect(failed).toMatchObject({ retryable: false, message: expect.stringContaining(said) });
  await expect(embedding).rejects.toThrow(said);
  expect(provider.requests).toHaveLength(2);
  expect(other.requests).toEqual([]);
});

test('a wrong key is a matter of credentials, though Gemini answers 400', async () => {
  await using gemini = await startMockGemini({ script: [], apiKey: 'the-right-key' });

  const { error: failed } = await failure(geminiAt(gemini.url, { apiKey: 'the-wrong-key' }));

  expect(failed).toMatchObject({ kind: 'authentication', status: 400, retryable: false });
  expect(failed.message).toContain('GEMINI_API_KEY');
});

test('takes the wait from the details of the error [model.retryAfter]', async () => {
  await using gemini = await startMockGemini({ script: [error(429, 'Quota.', { retryAfterMs: 13_000 })] });

  const { error: failed } = await failure(geminiAt(gemini.url));

  expect(failed.retryAfterMs).toBe(13_000);
});

const RETRY_INFO = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '55.846891726s' };

test.each<[string, Record<string, string>, unknown[], number | undefined]>([
  ['seconds', { 'retry-after': '7' }, [], 7000],
  ['fractions of seconds', { 'retry-after': '1.5' }, [], 1500],
  ['milliseconds before seconds', { 'retry-after-ms': '250', 'retry-after': '7' }, [RETRY_INFO], 250],
  ['a header before the details', { 'retry-after': '2' }, [RETRY_INFO], 2000],
  ['details alone', {}, [RETRY_INFO], 55_847],
  ['a day at most', { 'retry-after': '999999999' }, [], 86_400_000],
  ['nothing', {}, [], undefined],
  ['no wait', { 'retry-after': '0' }, [], undefined],
  ['a date that is past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, [], undefined],
  ['nonsense', { 'retry-after': 'soon 5', 'retry-after-ms': '-4' }, [{ retryDelay: '3s' }], undefined],
])('Retry-After: %s [model.retryAfter]', async (_, headers, details, expected) => {
  await using server = await startRawServer((response) =>
    sendJson(response, 503, { error: { code: 503, message: 'Later.', details } }, headers),
  );

  const { error: failed } = await failure(geminiAt(server.url));

  expect(failed.retryAfterMs).toBe(expected);
});

test('Retry-After: an HTTP date [model.retryAfter]', async () => {
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  await using server = await startRawServer((response) =>
    sendJson(response, 429, {}, { 'retry-after': date }),
  );

  const { error: failed } = await failure(geminiAt(server.url));

  expect(failed.retryAfterMs).toBeGreaterThan(3_000_000);
  expect(failed.retryAfterMs).toBeLessThanOrEqual(3_600_000);
});

test('keeps the waits of concurrent calls apart [model.retryAfter]', async () => {
  await using server = await startRawServer((response, { body }) => {
    const wait = JSON.stringify(body.contents).includes('short') ? '1' : '60';
    sendJson(response, 429, {}, { 'retry-after': wait });
  });
  const model = geminiAt(server.url);

  const failures = await Promise.all(
    ['short', 'long', 'short', 'long'].map((text) => failure(model, request({ contents: [userText(text)] }))),
  );

  expect(failures.map(({ error: failed }) => failed.retryAfterMs)).toEqual([1000, 60_000, 1000, 60_000]);
});

test.each([
  [400, 'true', true],
  [503, 'false', false],
  [503, 'maybe', true],
])('%i with x-should-retry: %s', async (status, value, retryable) => {
  await using server = await startRawServer((response) =>
    sendJson(response, status, {}, { 'x-should-retry': value }),
  );

  const { error: failed } = await failure(geminiAt(server.url));

  expect(failed.retryable).toBe(retryable);
});

test('keeps the status of a refusal whose body is broken or no JSON', async () => {
  const bodies = ['{"error": ', '<html>Bad gateway</html>'];
  await using server = await startRawServer((response) => {
    const body = bodies.shift();
    response.writeHead(502, { 'content-type': body?.startsWith('{') ? 'application/json' : 'text/html' });
    response.end(body);
  });
  const model = geminiAt(server.url);

  const broken = await failure(model);
  const html = await failure(model);

  expect(broken.error).toMatchObject({ kind: 'unavailable', status: 502, retryable: true });
  expect(html.error).toMatchObject({ kind: 'unavailable', status: 502, retryable: true });
  expect(html.error.message).toContain('<html>Bad gateway</html>');
});

test('an answer that is no JSON or breaks off is a failure of the connection', async () => {
  const bodies = ['<html>Sign in to the Wi-Fi</html>', '{"candidates": [{"content"'];
  await using server = await startRawServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write(bodies.shift());
    setImmediate(() => response.destroy());
  });
  const model = geminiAt(server.url);

  for (const _ of [1, 2]) {
    const { error: failed } = await failure(model);
    expect(failed).toMatchObject({ kind: 'network', retryable: true });
  }
});

test('a provider that cannot be reached is retryable [model.errors]', async () => {
  await using gemini = await startMockGemini({ script: [] });
  await gemini.close();

  const { error: failed } = await failure(geminiAt(gemini.url));

  expect(failed).toMatchObject({ kind: 'network', retryable: true, countsAsFailure: true });
  expect(failed.message).toContain('ECONNREFUSED');
});

test('a base URL without a scheme is refused by name', async () => {
  const { error: failed } = await failure(geminiAt('localhost:8080'));

  expect(failed).toMatchObject({ kind: 'bad_request', retryable: false });
  expect(failed.message).toContain('GOOGLE_GEMINI_BASE_URL');
});

test('what the SDK refuses before it sends is a bad request', async () => {
  const { error: failed } = await failure(
    geminiAt('http://127.0.0.1:1'),
    request({ config: { audioTimestamp: true } }),
  );

  expect(failed).toMatchObject({ kind: 'bad_request', retryable: false });
  expect(failed.message).toContain('audioTimestamp');
});

test('an abort closes the connection and is no failure [model.abort]', async () => {
  await using gemini = await startMockGemini({ script: () => hang() });
  const controller = new AbortController();
  const outcome = failure(geminiAt(gemini.url), request(), { signal: controller.signal });

  const [recorded] = await gemini.waitForRequests(1);
  controller.abort(new Error('the turn was interrupted'));

  expect((await outcome).error).toMatchObject({ kind: 'aborted', retryable: false, countsAsFailure: false });
  await expect.poll(() => recorded?.aborted).toBe(true);
});

test('an abort before the call sends nothing [model.abort]', async () => {
  await using gemini = await startMockGemini({ script: [] });

  const { error: failed } = await failure(geminiAt(gemini.url), request(), { signal: AbortSignal.abort() });

  expect(failed.kind).toBe('aborted');
  expect(gemini.requests).toHaveLength(0);
});

test('timeouts of the SDK and of the signal are retryable [model.errors]', async () => {
  await using gemini = await startMockGemini({ script: () => hang() });

  const ofSdk = await failure(geminiAt(gemini.url, { httpOptions: { timeout: 20 } }));
  const ofSignal = await failure(geminiAt(gemini.url), request(), { signal: AbortSignal.timeout(20) });

  for (const { error: failed } of [ofSdk, ofSignal]) {
    expect(failed).toMatchObject({ kind: 'timeout', retryable: true, countsAsFailure: true });
  }
});

const KEY = 'planted/key+"1"';
const TOKEN = 'planted-token-2';

function everything(failed: ModelError): string {
  return [
    failed.message,
    failed.stack,
    String(failed),
    JSON.stringify(failed),
    inspect(failed, { depth: 9, showHidden: true }),
  ].join('\n');
}

test.each<[string, number, string, string]>([
  ['JSON', 400, 'application/json', JSON.stringify({ error: { code: 400, message: `Key ${KEY} is bad` } })],
  ['nested JSON', 403, 'text/plain', JSON.stringify({ error: { message: `Bearer ${TOKEN} for ${KEY}` } })],
  ['a URL', 500, 'text/html', `GET https://x/v1?key=${encodeURIComponent(KEY)}&a=1 and Bearer ${TOKEN}`],
  ['a long text', 500, 'text/plain', `${'x'.repeat(2040)}${KEY}`],
  ['an answer that is no JSON', 200, 'application/json', `${KEY} ${TOKEN}`],
])('shows no key that the provider repeats in %s [model.secrets]', async (_, status, type, body) => {
  await using server = await startRawServer((response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  });
  const model = geminiAt(server.url, { apiKey: KEY, headers: { authorization: `Bearer ${TOKEN}` } });

  for (const stream of [false, true]) {
    const { error: failed } = await failure(model, request(), { stream });
    expect(everything(failed)).not.toMatch(/planted/);
  }
});

test('shows no key that cannot be sent, nor one in the base URL or the request [model.secrets]', async () => {
  const withNewline = await failure(geminiAt('http://127.0.0.1:1', { apiKey: 'planted\n-key-3' }));
  const inUrl = await failure(geminiAt('http://ada:planted-4@127.0.0.1:1'));
  const headers = { 'x-api-token': 'planted\n-key-5' };
  const inRequest = await failure(
    geminiAt('http://127.0.0.1:1'),
    request({ config: { httpOptions: { headers } } }),
  );

  for (const { error: failed } of [withNewline, inUrl, inRequest]) {
    expect(everything(failed)).not.toMatch(/planted/);
    expect(failed.retryable).toBe(false);
  }
});
