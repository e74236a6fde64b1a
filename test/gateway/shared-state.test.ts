import { expect, test } from 'vitest';
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
