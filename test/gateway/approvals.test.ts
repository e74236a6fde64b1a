import { describe, expect, test } from 'vitest';
import {
  AmbiguousRequest,
  DecisionRefused,
  type HoldfastApi,
  RequestNotFound,
  RequestNotPending,
} from '../../src/client/index.ts';
import { CredentialKeyMissing, InvalidCredential } from '../../src/credentials/credential-errors.ts';
import { stubGateway } from './gateway-stub.ts';

const SECRET = 'sk-planted-gateway-7Yw2';
const REQUEST = '/v1/approvals/rq-e-1.1.0.1';
const CREDENTIALS = '/v1/apps/shop/users/ada/credentials';

const post = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const failing = (error: Error) =>
  stubGateway({
    approvals: { get: async () => ({ app: 'shop', userId: 'ada' }), confirm: () => Promise.reject(error) },
    credentials: { put: () => Promise.reject(error) },
  } as unknown as Partial<HoldfastApi>);

describe('answers of requests to people', () => {
  const receipt = { v: 1, requestId: 'rq-e-1.1.0.1', callKey: 'e-1.1.0', status: 'refused' } as const;
  const request = { requestId: 'rq-e-1.1.0.1', status: 'expired', at: 7 } as const;
  test.each([
    [new RequestNotFound('none'), 404, {}],
    [new RequestNotPending('late', { details: { request } }), 409, { request }],
    [
      new AmbiguousRequest('two', { details: { requestIds: ['rq-a', 'rq-b'] } }),
      409,
      { requestIds: ['rq-a', 'rq-b'] },
    ],
    [new DecisionRefused('not you', { details: { receipt } }), 409, { receipt }],
  ])('$name has its status and what it tells [approval.list]', async (error, status, beside) => {
    const { send, lines } = failing(error);
    const answer = await send(`${REQUEST}/confirm`, post({ confirmed: true }));
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({
      error: {
        code: error.code,
        message: error.message,
        docs: `docs/errors.md#${error.code.toLowerCase()}`,
        ...beside,
      },
    });
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('a credential', () => {
  const body = { credentialKey: 'shop', credential: { authType: 'apiKey', apiKey: SECRET } };

  test('is given to the client, and neither logged nor answered [credential.secret]', async () => {
    const given: unknown[] = [];
    const stored = {
      ...{ credentialRef: 'cr-1', app: 'shop', userId: 'ada', credentialKey: 'shop' },
      ...{ authType: 'apiKey', createdAt: 1 },
    };
    const { send, lines } = stubGateway({
      credentials: {
        put: async (put: unknown) => {
          given.push(put);
          return stored;
        },
      },
    } as unknown as Partial<HoldfastApi>);
    const answer = await send(CREDENTIALS, post(body));
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual(stored);
    expect(given).toEqual([{ app: 'shop', userId: 'ada', ...body }]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  test.each([
    ['of another type', { ...body, credential: { authType: SECRET } }, 400],
    ['in a field that there is not', { ...body, secret: SECRET }, 400],
    ['in the place of its object', { ...body, credential: SECRET }, 400],
  ])('%s is refused, and quoted nowhere [credential.secret]', async (_where, wrong, status) => {
    const { send, lines } = failing(new InvalidCredential('credential: expected an object'));
    const answer = await send(CREDENTIALS, post(wrong));
    expect(answer.status).toBe(status);
    expect(JSON.stringify([await answer.json(), lines])).not.toContain(SECRET);
  });

  test('that the client fails with is quoted nowhere, whatever the error [credential.secret]', async () => {
    for (const [error, status] of [
      [new InvalidCredential("http.scheme: expected 'bearer' or 'basic'"), 400],
      [new CredentialKeyMissing(), 501],
    ] as const) {
      const { send, lines } = failing(error);
      const answer = await send(CREDENTIALS, post(body));
      expect(answer.status).toBe(status);
      expect(JSON.stringify([await answer.json(), lines])).not.toContain(SECRET);
    }
  });
});
