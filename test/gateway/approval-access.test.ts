import { describe, expect, test } from 'vitest';
import type { Access, Permission } from '../../src/gateway/index.ts';
import { type Stub, stubGateway, stubTurn } from './gateway-stub.ts';

const OF_BOB = 'rq-e-bob.1.0.1';
const rows = [
  { requestId: 'rq-e-ada.1.0.1', app: 'shop', userId: 'ada', sessionId: 's1', callId: 'call_1' },
  { requestId: OF_BOB, app: 'shop', userId: 'bob', sessionId: 's1', callId: 'call_2' },
];

/** Each may do what is in brackets behind their name, with sessions of their own: `ada[run,approve]`. */
const ownOnly: Access = {
  reach: 'network',
  screen: () => undefined,
  authenticate: ({ headers }) => {
    const [, name = '', list = ''] = /^(\w+)\[(.*)\]$/.exec(headers.get('authorization') ?? '') ?? [];
    const permissions = list.split(',') as Permission[];
    return {
      name,
      may: ({ permission, app, userId }) => {
        if (app !== 'shop' || userId !== name) return 'hidden';
        return permissions.includes(permission) ? 'allowed' : 'forbidden';
      },
    };
  },
};

function gatewayOfTwo() {
  const done: unknown[] = [];
  const client: Stub = {
    'approvals.get': ({ requestId }: { requestId: string }) =>
      rows.find((row) => row.requestId === requestId),
    'approvals.list': ({ userId }: { userId?: string }) => ({
      approvals: rows.filter((row) => userId === undefined || row.userId === userId),
    }),
    'approvals.confirm': (which) => {
      done.push(which);
      return { confirmed: true };
    },
    'jobs.list': () => ({ jobs: [] }),
    sendMessage: async (message) => {
      done.push(message);
      return stubTurn({ receipt: async () => ({ status: 'accepted', confirmed: false, reason: '' }) });
    },
  };
  const { send } = stubGateway(client, {
    access: ownOnly,
    records: { turns: { findClientCalls: async () => ['call_9'] } } as never,
  });
  const as = async (who: string, path: string, body?: object) => {
    const headers = { authorization: who, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await send(path, { ...sent, headers });
    return { status: answer.status, text: await answer.text() };
  };
  return { as, done };
}

describe('of users who may see their own', () => {
  test('each lists, sees and decides their own [approval.list]', async () => {
    const { as, done } = gatewayOfTwo();
    const ada = 'ada[read,approve]';
    const listed = await as(ada, '/v1/approvals?app=shop&user=ada');
    expect(JSON.parse(listed.text)).toEqual({ approvals: [rows[0]] });
    for (const query of ['', '?app=shop', '?user=ada', '?app=shop&user=bob', '?app=other&user=ada']) {
      expect(await as(ada, `/v1/approvals${query}`)).toMatchObject({ status: 404 });
    }
    // One name that was checked, and another one that is asked for.
    expect(await as(ada, '/v1/approvals?app=shop&user=ada&user=bob')).toMatchObject({ status: 400 });
    expect(await as(ada, '/v1/approvals/rq-e-ada.1.0.1')).toMatchObject({ status: 200 });
    expect(await as('ada[read]', '/v1/approvals/rq-e-ada.1.0.1/confirm', { confirmed: true })).toMatchObject({
      status: 403,
    });
    expect(done).toEqual([]);
    expect(await as(ada, '/v1/approvals/rq-e-ada.1.0.1/confirm', { confirmed: true })).toMatchObject({
      status: 200,
    });
    expect(done).toHaveLength(1);
  });

  test.each([
    ['the name of a request', { name: 'adk_request_confirmation', response: { confirmed: true } }],
    ['the id of a request', { id: OF_BOB, name: 'pay', response: { confirmed: true } }],
    ['the id of a call that waits', { id: 'call_1', name: 'pay', response: { confirmed: true } }],
  ])('who may only send messages decides nothing by %s [approval.list]', async (_what, functionResponse) => {
    const { as, done } = gatewayOfTwo();
    const message = { role: 'user', parts: [{ text: 'well' }, { functionResponse }] };
    const path = '/v1/apps/shop/users/ada/sessions/s1/messages';
    expect(await as('ada[run]', path, { message })).toMatchObject({ status: 403 });
    expect(done).toEqual([]);
    expect(await as('ada[run,approve]', path, { message })).toMatchObject({ status: 202 });
    // Of a call that no worker runs.
    const late = { functionResponse: { id: 'call_9', name: 'job', response: {} } };
    expect(await as('ada[run]', path, { message: { parts: [late] } })).toMatchObject({ status: 202 });
    expect(done).toHaveLength(2);
    const unknown = { functionResponse: { id: 'call_10', name: 'job', response: {} } };
    expect(await as('ada[run]', path, { message: { parts: [late, unknown] } })).toMatchObject({
      status: 403,
    });
    expect(done).toHaveLength(2);
  });
});
