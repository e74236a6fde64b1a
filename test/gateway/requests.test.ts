import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  InvalidTurn,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  StoreNeeded,
  TurnRunning,
  UnknownCall,
} from '../../src/client/client-errors.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import {
  NoSuchPlace,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreFailed,
  StoreUnavailable,
} from '../../src/store/store-errors.ts';
import { inTier } from '../setup/tier.ts';
import { clientOf, codeOf, type StubGateway, stubGateway, stubTurn } from './gateway-stub.ts';

const SESSION = '/v1/apps/shop/users/ada/sessions/s1';
const json = { 'content-type': 'application/json' };

function recording(): StubGateway & { sent: OutgoingMessage[] } {
  const sent: OutgoingMessage[] = [];
  const stub = stubGateway({
    sendMessage: async (message) => {
      sent.push(message);
      return stubTurn({ messageId: message.messageId ?? 'm1' });
    },
    interrupt: async () => ({ v: 1, confirmed: true }),
  });
  return { ...stub, sent };
}

describe('a request', () => {
  test('sends a message and gets the turn with its links [gateway.turns]', async () => {
    const { send, sent } = recording();
    const body = JSON.stringify({
      message: 'hi',
      messageId: 'm/1',
      policy: 'reject',
      agent: null,
      stateDelta: { a: { b: [1] } },
      runConfig: { streamingMode: 'sse', maxLlmCalls: 3 },
    });
    const answer = await send('/v1/apps/my%20shop/users/ada%2Flovelace/sessions/s%C3%BC/messages', {
      method: 'POST',
      headers: json,
      body,
    });
    expect(answer.status).toBe(202);
    expect(sent).toEqual([
      {
        app: 'my shop',
        userId: 'ada/lovelace',
        sessionId: 'sü',
        message: 'hi',
        messageId: 'm/1',
        policy: 'reject',
        stateDelta: { a: { b: [1] } },
        runConfig: { streamingMode: 'sse', maxLlmCalls: 3 },
      },
    ]);
    const session = '/v1/apps/my%20shop/users/ada%2Flovelace/sessions/s%C3%BC';
    expect(await answer.json()).toEqual({
      workflowId: 'shop/ada/s1',
      runId: 'r1',
      invocationId: 'e-1',
      messageId: 'm/1',
      taskQueue: 'holdfast',
      attached: false,
      disposition: 'started',
      links: {
        result: `${session}/turns/m%2F1`,
        events: `${session}/turns/m%2F1/events`,
        receipt: `${session}/turns/m%2F1/receipt`,
        session,
        ui: 'http://localhost:8233/namespaces/default/workflows/shop%2Fada%2Fs1/r1/history',
      },
    });
  });

  test('reaches its session whatever the names are [gateway.turns]', async () => {
    const seen: unknown[] = [];
    const stub = stubGateway({
      interrupt: async (names: unknown) => {
        seen.push(names);
        return { v: 1, confirmed: true };
      },
    });
    const client = clientOf(stub);
    const name = fc
      .string({
        unit: fc.oneof(
          fc.constantFrom('/', '%', '2', 'F', '.', ' ', '?', '#', '\\', '+', ':', '~', 'ü', '💡'),
          fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
        ),
        minLength: 1,
        maxLength: 12,
      })
      .filter((text) => text.isWellFormed() && !text.includes('\0') && text !== '.' && text !== '..');
    await fc.assert(
      fc.asyncProperty(name, name, name, async (app, userId, sessionId) => {
        await client.interrupt({ app, userId, sessionId });
        expect(seen.pop()).toEqual({ app, userId, sessionId });
      }),
      { numRuns: inTier(10, 100) },
    );
  });

  test.each(['.', '..'])('can’t name a session "%s", which no path holds', async (sessionId) => {
    const stub = recording();
    await expect(clientOf(stub).interrupt({ app: 'a', userId: 'u', sessionId })).rejects.toThrow(
      'sessionId: "." and ".." can’t stand in a path',
    );
    const body = JSON.stringify({ sessionId });
    const made = await stub.send('/v1/apps/a/users/u/sessions', { method: 'POST', headers: json, body });
    expect(made.status).toBe(400);
  });

  test.each([
    [{}, 'body.message: expected text that isn’t blank, or a Content'],
    [{ message: 7 }, 'body.message: expected text that isn’t blank, or a Content'],
    [{ message: 'x', mesageId: 'm' }, 'body: there is no field "mesageId"; did you mean "messageId"?'],
    [{ message: 'x', messageId: '' }, 'body.messageId: expected a non-empty string'],
    [
      { message: 'x', policy: 'maybe' },
      "body.policy: expected 'enqueue', 'interrupt' or 'reject' or nothing, got string",
    ],
    [{ message: 'x', stateDelta: [1] }, 'body.stateDelta: expected an object or nothing, got a list of 1'],
    [
      { message: 'x', runConfig: { maxLlmCalls: 1.5 } },
      'body.runConfig.maxLlmCalls: expected a whole number',
    ],
    [[], 'body: expected an object, got a list of 0'],
    [null, 'body: expected an object, got null'],
  ])('with the body %j is told what is wrong with which field', async (body, problem) => {
    const { send, sent } = recording();
    const answer = await send(`${SESSION}/messages`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('HOLDFAST_GATEWAY_BAD_REQUEST');
    expect(error.message).toContain(problem);
    expect(sent).toEqual([]);
  });

  test('with more that is wrong than anybody reads is told some of it', async () => {
    const { send } = recording();
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, index]));
    const body = JSON.stringify({ message: 'x', ...fields });
    const answer = await send(`${SESSION}/messages`, { method: 'POST', headers: json, body });
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error.message).toContain('there is no field "field4"; and more');
    expect(error.message.length).toBeLessThan(500);
  });

  test.each<[string, () => string, string]>([
    [
      'a million fields',
      () => `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":0`).join()}}`,
      'body: there is no field "k0"',
    ],
    [
      'a million empty parts',
      () => `{"message":{"parts":[${'{},'.repeat(999_999)}{}]}}`,
      'body.message: more than 500000 objects',
    ],
    [
      '20,000 empty parts',
      () => `{"message":{"parts":[${'{},'.repeat(19_999)}{}]}}`,
      'a list of 20000, at most 10000',
    ],
    [
      'a part with 200,000 fields',
      () =>
        `{"message":{"role":"x","parts":[{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":0`).join()}}]}}`,
      "body.message.role: expected 'user'",
    ],
  ])('with %s is refused at once', async (_what, body, problem) => {
    const { send, sent } = recording();
    const began = process.cpuUsage();
    const answer = await send(`${SESSION}/messages`, { method: 'POST', headers: json, body: body() });
    const { user } = process.cpuUsage(began);
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).toContain(problem.replaceAll('"', '\\"'));
    expect(text.length).toBeLessThan(1_000);
    expect(sent).toEqual([]);
    expect(user).toBeLessThan(5_000_000);
  });

  test.each([
    ['interrupt?reason=x', { method: 'POST', headers: json, body: '{}' }, 'query: there is no field'],
    ['?idlesince=1700000000000', { method: 'DELETE' }, 'did you mean'],
  ])('asks for nothing in its query that nobody looks at: %s', async (path, init, problem) => {
    const { send, sent } = recording();
    const answer = await send(`${SESSION}${path.startsWith('?') ? '' : '/'}${path}`, init);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(problem);
    expect(sent).toEqual([]);
  });

  test('names in its path what the contract refuses: the client gets it as it is', async () => {
    const asked: unknown[] = [];
    const list = async (of: unknown) => {
      asked.push(of);
      return { sessions: [] };
    };
    const { send } = stubGateway({ 'sessions.list': list });
    await send('/v1/apps/a/users/%00/sessions');
    expect(asked).toMatchObject([{ app: 'a', userId: '\0' }]);
  });

  test('makes no session whose name is too long for a path', async () => {
    const { send } = recording();
    const body = JSON.stringify({ sessionId: 'ü'.repeat(3_000) });
    const answer = await send('/v1/apps/a/users/u/sessions', { method: 'POST', headers: json, body });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(
      'body.sessionId: expected a name of at most 15000 bytes when it is',
    );
  });

  test('is told no value that was wrong, which may be a secret', async () => {
    const { send } = recording();
    const body = JSON.stringify({ message: 'x', policy: 'hunter2', messageId: ['hunter2'] });
    const answer = await send(`${SESSION}/messages`, { method: 'POST', headers: json, body });
    expect(await answer.text()).not.toContain('hunter2');
  });

  test.each([
    ['?limit=0', 'query.limit: expected a whole number from 1 to 1000 or nothing, got number'],
    ['?limit=x', 'query.limit: expected a whole number'],
    ['?limit=', 'query.limit: expected a whole number'],
    ['?limit=1&limit=2', 'query.limit: expected a whole number from 1 to 1000 or nothing, got a list of 2'],
    ['?order=up', 'query.order'],
    ['?offset=-1', 'query.offset: expected a whole number'],
  ])('with the query %s is told what is wrong', async (query, problem) => {
    const { send } = stubGateway();
    const answer = await send(`/v1/apps/shop/sessions${query}`);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(problem);
  });

  test.each([
    ['text/plain', '{"message":"x"}', 415],
    ['application/x-www-form-urlencoded', 'message=x', 415],
    ['multipart/form-data; boundary=x', '--x--', 415],
    ['application/vnd.api+json', '{"message":"x"}', 415],
    ['application/json; charset=utf-16', '{"message":"x"}', 415],
    ['application/json, text/plain', '{"message":"x"}', 415],
    ['application/json; charset=utf-8', '{"message":"x"}', 202],
    ['Application/JSON', '{"message":"x"}', 202],
    ['application/json', '{"message":', 400],
    ['application/json', '', 400],
    ['application/json', `{"message":"${'['.repeat(500)}\\"${'{'.repeat(500)}"}`, 202],
  ])('of the type %s with %s is answered %s', async (type, body, status) => {
    const { send } = recording();
    const answer = await send(`${SESSION}/messages`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect(answer.status).toBe(status);
  });

  test.each([111, 3_000, 100_000])('of %i levels is refused by its name [tool.deep]', async (levels) => {
    const { send, sent } = recording();
    const body = `{"message":"x","stateDelta":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
    const answer = await send(`${SESSION}/messages`, { method: 'POST', headers: json, body });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('body: objects and lists are nested in more than 110 levels');
    expect(sent).toEqual([]);
  });

  test('without a type, compressed, or not in UTF-8 is refused', async () => {
    const { send } = recording();
    const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
      send(`${SESSION}/messages`, { method: 'POST', body, headers }).then(({ status }) => status);
    const bytes = new TextEncoder().encode('{"message":"x"}');
    expect(await post(bytes)).toBe(415);
    expect(await post(bytes, { ...json, 'content-encoding': 'gzip' })).toBe(415);
    expect(await post(new Uint8Array([0x22, 0xff, 0x22]), json)).toBe(415);
    expect(await post(bytes, json)).toBe(202);
  });

  test('that has no body may say of any type that it is none', async () => {
    const { send } = recording();
    expect((await send('/v1/about', { headers: { 'content-type': 'text/plain' } })).status).toBe(200);
  });

  test('without a body is taken where the route needs none', async () => {
    const { send } = recording();
    expect((await send(`${SESSION}/interrupt`, { method: 'POST' })).status).toBe(200);
  });

  test('of more bytes than are allowed is refused, however it is sent', async () => {
    const { send } = stubGateway({}, { bodyLimit: 100 });
    const text = JSON.stringify({ message: 'x'.repeat(200) });
    const whole = await send(`${SESSION}/messages`, { method: 'POST', headers: json, body: text });
    const pieces = new ReadableStream({
      start(controller) {
        for (const piece of text.match(/.{1,50}/g) ?? []) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    const streamed = await send(`${SESSION}/messages`, {
      method: 'POST',
      headers: json,
      body: pieces,
      duplex: 'half',
    } as never);
    expect([whole.status, streamed.status]).toEqual([413, 413]);
    expect(await codeOf(whole)).toBe('HOLDFAST_GATEWAY_BODY_TOO_LARGE');
  });

  test.each([
    ['PUT', SESSION, 405, 'GET, HEAD, DELETE, OPTIONS'],
    ['GET', `${SESSION}/interrupt`, 405, 'POST, OPTIONS'],
    ['OPTIONS', `${SESSION}/interrupt`, 204, 'POST, OPTIONS'],
    ['OPTIONS', '/v1/about', 204, 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/about/', 404, null],
    ['GET', '/v2/about', 404, null],
    ['GET', '/v1/apps//users/u/sessions', 404, null],
    ['HEAD', '/v1/about', 200, null],
    ['GET', '/v1/apps/%E0%A4%A/sessions', 400, null],
  ])('%s %s is answered %s', async (method, path, status, allow) => {
    const answer = await stubGateway().send(path, { method });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('allow')).toBe(allow);
    if (status >= 400) expect(await codeOf(answer)).toMatch(/^HOLDFAST_GATEWAY_/);
    else expect(method === 'HEAD' ? await answer.text() : '').toBe('');
  });

  test('has an id, its caller’s where that is a fit one', async () => {
    const { send, lines } = stubGateway();
    const idOf = async (given: string) =>
      (await send('/v1/about', { headers: { 'x-request-id': given } })).headers.get('x-request-id');
    expect(await idOf('job-7:2')).toBe('job-7:2');
    expect(await idOf('{"level":"error"} '.repeat(9))).toMatch(/^[0-9a-f-]{36}$/);
    expect(lines[0]?.attributes.requestId).toBe('job-7:2');
  });
});

describe('an error of the client', () => {
  const receipt = { v: 1, messageId: 'm', invocationId: 'e', status: 'queue full' as const };
  const unavailable = new StoreUnavailable('postgres://db.internal/holdfast refuses');
  const cases: [number, Error, unknown][] = [
    [400, new InvalidTurn('app: empty'), InvalidTurn],
    [404, new SessionNotFound('no s1'), SessionNotFound],
    [404, new NoSuchPlace('no such call'), NoSuchPlace],
    [404, new UnknownCall('no such call'), UnknownCall],
    [409, new SessionExists('s1 is there'), SessionExists],
    [409, new SessionHasForks('s1 has forks'), SessionHasForks],
    [409, new TurnRunning('a turn runs'), TurnRunning],
    [409, new MessageRejected('full', { details: { receipt } }), MessageRejected],
    [413, new MessageTooLarge('too large'), MessageTooLarge],
    [501, new StoreNeeded('give a store'), StoreNeeded],
    [503, unavailable, StoreUnavailable],
    [504, new NoAnswer('no worker polls'), NoAnswer],
    [500, new StoreFailed('relation "secret" does not exist'), StoreFailed],
    [
      409,
      new WorkflowFailedError('x', new CancelledFailure('y'), RetryState.NON_RETRYABLE_FAILURE),
      WorkflowFailedError,
    ],
    [
      409,
      new WorkflowFailedError('x', new TerminatedFailure('y'), RetryState.NON_RETRYABLE_FAILURE),
      WorkflowFailedError,
    ],
  ];
  const failing = (error: Error) => stubGateway({ interrupt: () => Promise.reject(error) });

  test.each(cases)('is answered %s and comes back in its class: %s', async (status, error, type) => {
    const stub = failing(error);
    const answer = await stub.send(`${SESSION}/interrupt`, { method: 'POST' });
    expect(answer.status).toBe(status);
    const { docs, code } = ((await answer.json()) as { error: { docs: string; code: string } }).error;
    expect(docs).toBe(`docs/errors.md#${code.toLowerCase()}`);
    const caught = await clientOf(stub)
      .interrupt({ app: 'shop', userId: 'ada', sessionId: 's1' })
      .catch((thrown: unknown) => thrown);
    expect(caught).toBeInstanceOf(type);
    if ('code' in error) expect(caught).toMatchObject({ code: error.code });
    if (error instanceof MessageRejected) expect(caught).toMatchObject({ receipt });
    if (error instanceof WorkflowFailedError) {
      expect((caught as WorkflowFailedError).cause?.constructor).toBe(error.cause?.constructor);
    }
  });

  test('that passes says when to come again, and that of the operator only its log tells', async () => {
    const stub = failing(unavailable);
    const answer = await stub.send(`${SESSION}/interrupt`, { method: 'POST' });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.text()).not.toContain('db.internal');
    expect(stub.lines.find(({ level }) => level === 'error')?.attributes.error).toBe(unavailable);
  });

  test('of Temporal’s connection is answered 503', async () => {
    const lost = Object.assign(new Error('14 UNAVAILABLE: no connection'), {
      code: 14,
      details: 'x',
      metadata: {},
    });
    const answer = await failing(lost).send(`${SESSION}/interrupt`, { method: 'POST' });
    expect([answer.status, await codeOf(answer)]).toEqual([503, 'HOLDFAST_TEMPORAL_UNREACHABLE']);
  });

  test('that nobody has thought of is told nobody but the log', async () => {
    const stub = failing(new RangeError('hunter2'));
    const answer = await stub.send(`${SESSION}/interrupt`, { method: 'POST' });
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('hunter2');
    await expect(
      clientOf(stub).interrupt({ app: 'shop', userId: 'ada', sessionId: 's1' }),
    ).rejects.toMatchObject({ name: 'GatewayError', code: 'HOLDFAST_GATEWAY_ERROR', status: 500 });
  });
});

describe('readiness', () => {
  test.each([
    [{ temporal: true, store: true }, 200],
    [{ temporal: true, store: false }, 503],
    [{}, 503],
  ])('%j is answered %s', async (checks, status) => {
    const { send } = stubGateway({}, { ready: async () => checks });
    const answer = await send('/v1/ready');
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ ready: status === 200, checks });
  });

  test('that can’t be told is none', async () => {
    const { send } = stubGateway({}, { ready: async () => Promise.reject(new Error('hunter2')) });
    const answer = await send('/v1/ready');
    expect([answer.status, await answer.text()]).toEqual([503, '{"ready":false,"checks":{}}']);
  });
});
