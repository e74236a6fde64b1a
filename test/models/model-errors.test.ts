import { expect, test, vi } from 'vitest';
import { ModelError, toModelError } from '../../src/models/model-errors.ts';

function withCode(code: string, message = code): Error {
  return Object.assign(new Error(message), { code });
}

test.each([
  'ECONNRESET',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
])('%s below "fetch failed" is a retryable failure of the network [model.errors]', (code) => {
  const error = toModelError(new TypeError('fetch failed', { cause: withCode(code) }));

  expect(error).toMatchObject({ code: 'HOLDFAST_MODEL_NETWORK', kind: 'network', retryable: true });
  expect(error.message).toContain(code);
});

test.each([
  new TypeError('terminated'),
  new TypeError('fetch failed'),
  new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]),
  withCode('ECONNRESET', 'socket hang up'),
])('%o is a retryable failure of the network', (thrown) => {
  expect(toModelError(thrown)).toMatchObject({ kind: 'network', retryable: true, countsAsFailure: true });
});

test('an AbortError is an abort, or a timeout where the caller did not abort', () => {
  const thrown = new DOMException('This operation was aborted', 'AbortError');
  const patient = new AbortController().signal;

  expect(toModelError(thrown)).toMatchObject({ kind: 'aborted', retryable: false, countsAsFailure: false });
  expect(toModelError(thrown, { abortSignal: AbortSignal.abort() }).kind).toBe('aborted');
  expect(toModelError(thrown, { abortSignal: patient })).toMatchObject({ kind: 'timeout', retryable: true });
  expect(toModelError(new DOMException('late', 'TimeoutError')).kind).toBe('timeout');
});

test('sign-in errors of Google are matters of credentials, unless Google itself is down', () => {
  const gaxios = (status: number) =>
    Object.assign(new Error('invalid_grant'), { name: 'GaxiosError', status, config: { secret: 'x' } });

  expect(toModelError(gaxios(400)).kind).toBe('authentication');
  expect(toModelError(gaxios(503)).kind).toBe('unavailable');
  expect(toModelError(new Error('Could not load the default credentials.')).kind).toBe('authentication');
});

test.each([[new Error('odd')], ['a string'], [undefined], [null], [{ status: 'no' }]])(
  '%o is unknown and not retryable [model.errors]',
  (thrown) => {
    expect(toModelError(thrown)).toMatchObject({ code: 'HOLDFAST_MODEL_UNKNOWN', retryable: false });
  },
);

test('the same error comes through as it is', () => {
  const error = new ModelError({ kind: 'conflict', message: 'Twice.' });

  expect(toModelError(error)).toBe(error);
});

test('quotes at most 2 KB, and whole characters', () => {
  const error = toModelError(Object.assign(new Error(`a${'é'.repeat(5000)}`), { status: 400 }));

  expect(Buffer.byteLength(error.message)).toBeLessThan(2600);
  expect(error.message).toContain('é…');
  expect(error.message).not.toContain('\uFFFD');
});

test('keeps no cause: it may hold the key', () => {
  const error = toModelError(new Error('outer', { cause: new Error('inner') }));

  expect(error.cause).toBeUndefined();
  expect(error.message).toContain('outer: inner');
});

test('shows no key of the environment and nothing that looks like one [model.secrets]', () => {
  vi.stubEnv('GEMINI_API_KEY', 'planted-env-key');
  const texts = [
    'key planted-env-key',
    'https://host/v1?alt=sse&key=planted-query',
    'AIzaSyA-planted_0123456789012345678901234',
    'Authorization: Bearer planted.token/123==',
    'ya29.planted-token',
    'http://ada:planted@proxy:8080/',
  ];

  for (const text of texts) expect(toModelError(new Error(text)).message).not.toContain('planted');
  vi.unstubAllEnvs();
});

test('shows no given secret, also where it stands encoded [model.secrets]', () => {
  const secret = 'planted/"key"';
  const text = `plain ${secret}, JSON ${JSON.stringify(secret)}, URL /v1/${encodeURIComponent(secret)}`;

  expect(toModelError(new Error(text), { secrets: [secret] }).message).not.toContain('planted');
});
