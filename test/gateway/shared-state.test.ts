import { expect, test } from 'vitest';
import { HoldfastClient } from '../../src/client/index.ts';
import { grantedPrincipal } from '../../src/gateway/access/granted-principal.ts';
import type { Access } from '../../src/gateway/index.ts';
import { type Stub, stubGateway, stubTurn } from './gateway-stub.ts';

const PRINCIPALS = {
  ada: grantedPrincipal({ name: 'ada', userId: 'ada', grants: [{ app: 'shop', roles: ['run'] }] }),
  backend: grantedPrincipal({ name: 'backend', grants: [{ app: 'shop', roles: ['run'] }] }),
};

const named: Access = {
  reach: 'network',
  screen: () => undefined,
  authenticate: ({ headers }) => PRINCIPALS[headers.get('authorization') as keyof typeof PRINCIPALS],
};

test.each([
  ['sessions', 'state', { 'app:price': 1 }, 'ada', 403],
  ['sessions', 'state', { 'app:price': 1 }, 'backend', 201],
  ['sessions', 'state', { 'user:name': 'Ada', seen: 1 }, 'ada', 201],
  ['sessions/s1/messages', 'stateDelta', { seen: 1, 'app:price': 1 }, 'ada', 403],
  ['sessions/s1/messages', 'stateDelta', { 'app:price': 1 }, 'backend', 202],
  ['sessions/s1/messages', 'stateDelta', { 'user:name': 'Ada' }, 'ada', 202],
])(
  '%s: %s %j by %s is %i: what all users share is not for one of them to write [auth.roles]',
  async (path, field, state, who, status) => {
    const done: unknown[] = [];
    const client: Stub = {
      'sessions.create': (given) => {
        done.push(given);
        return {};
      },
      'approvals.list': () => ({ approvals: [] }),
      sendMessage: async (given) => {
        done.push(given);
        return stubTurn({});
      },
    };
    const { send } = stubGateway(client, { access: named });
    const answer = await send(`/v1/apps/shop/users/ada/${path}`, {
      method: 'POST',
      headers: { authorization: who, 'content-type': 'application/json' },
      body: JSON.stringify({ ...(path === 'sessions' ? {} : { message: 'hi' }), [field]: state }),
    });
    expect({ status: answer.status, done: done.length }).toEqual({ status, done: status === 403 ? 0 : 1 });
  },
);

test.each([
  ['sessions', 'state', 'sessions.create: state: the key'],
  ['sessions/s1/messages', 'stateDelta', 'sendMessage: stateDelta: the key'],
])(
  '%s: keys that are reserved for Holdfast are refused, and named [state.reserved]',
  async (path, field, problem) => {
    const real = new HoldfastClient({ temporal: {} as never, store: {} as never });
    const client: Stub = {
      'sessions.create': (create) => real.sessions.create(create),
      sendMessage: (message) => real.sendMessage(message),
    };
    const { send } = stubGateway(client, { access: named });
    for (const key of ['temp:_holdfast_tools', 'temp:HOLDFAST_question']) {
      const answer = await send(`/v1/apps/shop/users/ada/${path}`, {
        method: 'POST',
        headers: { authorization: 'ada', 'content-type': 'application/json' },
        body: JSON.stringify({
          ...(path === 'sessions' ? {} : { message: 'hi' }),
          [field]: { seen: 1, [key]: [] },
        }),
      });
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error).toMatchObject({
        code: 'HOLDFAST_INVALID_TURN',
        message: expect.stringContaining(problem),
      });
      expect(error.message).toContain(JSON.stringify(key));
    }
  },
);
