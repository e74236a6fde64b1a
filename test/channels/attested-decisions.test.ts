import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { GivenCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { untilAsked } from '../setup/until-asked.ts';
import { gatewayOf } from './named-access.ts';

const keys = { k1: randomBytes(32).toString('base64') };
function payingAgent(name: string, ran: string[], approval: object) {
  return new LlmAgent({
    name,
    model: 'gemini-2.5-flash',
    tools: [
      tool({
        name: 'pay',
        description: 'pays',
        parameters: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
        requireConfirmation: true,
        approval,
        execute: ({ cents }, { callKey }) => {
          ran.push(`${callKey} ${String(cents)}`);
          return { paid: true };
        },
      }),
    ],
  });
}

describe('a gateway’s word for who decides and who sends [channel.attested]', () => {
  const ran: string[] = [];
  const served: ServedGateway[] = [];
  let environment: TurnEnvironment;

  beforeAll(async () => {
    const few = { approvers: ['mira', 'jo'], notRequester: true, allowEdit: true };
    const rootAgent = payingAgent('desk', ran, few);
    environment = await openTurnEnvironment({
      apps: [
        new App({ name: 'trusting', rootAgent }),
        new App({ name: 'open', rootAgent: payingAgent('counter', ran, {}) }),
        new App({ name: 'careful', rootAgent, durable: { approval: { trustGateway: false } } }),
      ],
      script: stepCalls([[{ name: 'pay', args: { cents: 700 } }]]),
      workerOptions: { credentialKeys: keys },
    });
  });
  afterAll(async () => {
    await Promise.all(served.map((gateway) => gateway.close()));
    await environment.close();
  });

  async function gatewayWith(credentialKeys?: GivenCredentialKeys) {
    const gateway = gatewayOf(environment.client, credentialKeys === undefined ? {} : { credentialKeys });
    const open = await serveGateway({ gateway });
    served.push(open);
    return async (person: string, path: string, body?: object) => {
      const answer = await fetch(`${open.url}/v1/${path}`, {
        headers: { 'x-person': person, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as { error: { message: string } } };
    };
  }

  async function asked(as: Awaited<ReturnType<typeof gatewayWith>>, app = 'trusting', by = 'nora') {
    const session = randomUUID();
    const sent = await as(by, `apps/${app}/users/u1/sessions/${session}/messages`, { message: 'pay' });
    expect(sent.status).toBe(202);
    const names = { app, userId: 'u1', sessionId: session };
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [request] = await environment.client.approvals.list(names);
    if (request === undefined) throw new Error('nobody was asked');
    await untilAsked(environment.temporal, request);
    const decide = (person: string, decision: object) =>
      as(person, `approvals/${request.requestId}/confirm`, decision);
    const now = () => environment.client.approvals.get({ requestId: request.requestId });
    return { names, request, decide, now };
  }

  test('an approver decides as who they are, and the audit names them and the channel', async () => {
    const { names, request, decide, now } = await asked(await gatewayWith(keys));
    expect(request.requester).toBe('nora');
    const decided = await decide('mira', { confirmed: true, args: { cents: 500 } });
    expect(decided).toMatchObject({ status: 200, body: { status: 'approved', confirmed: true } });
    await expect.poll(() => ran).toContain(`${request.callKey} 500`);
    expect(await now()).toMatchObject({
      status: 'approved',
      votes: [{ by: { principal: 'mira', verified: true, channel: 'http' }, confirmed: true }],
    });
    expect(await environment.client.approvals.verifyAudit(names)).toMatchObject({ ok: true });
  });

  test('somebody else, and whoever has asked, decides nothing', async () => {
    const as = await gatewayWith(keys);
    const { decide, now, request } = await asked(as, 'trusting', 'jo');
    for (const [person, why] of [
      ['eve', /may not decide the request/],
      ['jo', /the requester of the call may not decide/],
      ['', /this one has none/],
    ] as const) {
      const { status, body } = await decide(person, { confirmed: true });
      expect({ person, status, body }).toMatchObject({ person, status: 409 });
      expect(body.error.message).toMatch(why);
    }
    expect(await now()).toMatchObject({ status: 'pending' });
    expect(await decide('mira', { confirmed: false, reason: 'too much' })).toMatchObject({ status: 200 });
    expect(await decide('mira', { confirmed: false, reason: 'too much' })).toMatchObject({
      status: 200,
      body: { status: 'duplicate' },
    });
    expect((await decide('mira', { confirmed: true })).status).toBe(409);
    expect(ran.join()).not.toContain(request.callKey);
  });

  test.each([
    ['without keys', undefined],
    ['with keys of another installation', { k1: randomBytes(32).toString('base64') }],
    ['with a key that workers have no more', { k0: randomBytes(32).toString('base64') }],
  ])('%s it is nobody’s', async (_how, credentialKeys) => {
    const { decide, now } = await asked(await gatewayWith(credentialKeys));
    expect(await decide('mira', { confirmed: true })).toMatchObject({ status: 409 });
    expect(await now()).toMatchObject({ status: 'pending' });
  });

  test.each([
    ['one who is known', keys, 'mira', 'trusting'],
    ['one who is nobody in particular', undefined, '', 'open'],
  ])(
    '%s decides what was shown, and not what has its id by now [gateway.shown]',
    async (_who, credentialKeys, person, app) => {
      const as = await gatewayWith(credentialKeys);
      const names = { app, userId: 'u1', sessionId: randomUUID() };
      const begin = async () => {
        await as('nora', `apps/${app}/users/u1/sessions/${names.sessionId}/messages`, {
          messageId: 'm1',
          message: 'pay',
        });
        await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
        const [request] = await environment.client.approvals.list(names);
        if (request === undefined) throw new Error('nobody was asked');
        return request;
      };
      const first = await begin();
      await environment.client.sessions.delete({ ...names, cancelRunning: true });
      const second = await begin();
      expect(second).toMatchObject({ requestId: first.requestId });
      expect(second.session).not.toBe(first.session);
      const path = `approvals/${second.requestId}/confirm`;
      const shown = ({ session, argsDigest }: typeof first) => ({ session, argsDigest });
      for (const seen of [shown(first), { ...shown(second), argsDigest: 'sha256-of-others' }]) {
        const { status, body } = await as(person, path, { confirmed: true, shown: seen });
        expect(status).toBe(409);
        expect(body.error.message).toContain('not what was shown');
      }
      expect((await as(person, path, { confirmed: true, shown: { session: second.session } })).status).toBe(
        400,
      );
      expect(await environment.client.approvals.get({ requestId: second.requestId })).toMatchObject({
        status: 'pending',
      });
      await expect(
        environment.client.approvals.provideInput(
          { requestId: second.requestId },
          { response: {}, shown: first },
        ),
      ).rejects.toMatchObject({ code: 'HOLDFAST_DECISION_REFUSED' });
      // Where the client has looked too early, the turn knows better.
      const handle = environment.temporal.workflow.getHandle(second.workflowId);
      const late = { requestId: second.requestId, confirmed: true, session: first.session };
      await expect(handle.executeUpdate('confirm', { args: [late] })).rejects.toMatchObject({
        cause: { type: 'OtherRequest' },
      });
      await handle.signal('confirm', late);
      expect(await environment.client.approvals.get({ requestId: second.requestId })).toMatchObject({
        status: 'pending',
      });
      expect((await as(person, path, { confirmed: true, shown: shown(second) })).status).toBe(200);
    },
  );

  test('an app that trusts no gateway believes none', async () => {
    const { request, decide, now } = await asked(await gatewayWith(keys), 'careful');
    expect(request.requester).toBeUndefined();
    expect((await decide('mira', { confirmed: true })).status).toBe(409);
    expect(await now()).toMatchObject({ status: 'pending' });
  });
});
