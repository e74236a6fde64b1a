import { randomBytes, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Grant } from '../../src/contract/keys.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import {
  configuredAccess,
  defineGateway,
  type GatewayDefinition,
  localAccess,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import type { NewApiKey } from '../../src/store/keys/key-store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { untilAsked } from '../setup/until-asked.ts';
import { gatewayOf } from './named-access.ts';

const credentialKeys = { k1: randomBytes(32).toString('base64') };
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const localToken = randomBytes(32).toString('base64url');

describe('who has an API key', () => {
  const ran: string[] = [];
  let environment: TurnEnvironment;
  let served: ServedGateway;

  beforeAll(async () => {
    const rootAgent = new LlmAgent({
      name: 'desk',
      model: 'gemini-2.5-flash',
      tools: [
        tool({
          name: 'pay',
          description: 'pays',
          parameters: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
          requireConfirmation: true,
          approval: { approvers: ['mira', 'jo', 'nora'], quorum: 2, notRequester: true },
          execute: ({ cents }, { callKey }) => {
            ran.push(`${callKey} ${String(cents)}`);
            return { paid: true };
          },
        }),
      ],
    });
    environment = await openTurnEnvironment({
      apps: [new App({ name: 'shop', rootAgent }), new App({ name: 'bank', rootAgent })],
      script: stepCalls([[{ name: 'pay', args: { cents: 700 } }]]),
      workerOptions: { credentialKeys },
    });
    served = await serve(defineGateway({}));
  });
  afterAll(async () => {
    await served.close();
    await environment.close();
  });

  async function serve(settings: GatewayDefinition) {
    const { client, store: records } = environment;
    const access = configuredAccess({ settings, records, local: localAccess({ token: localToken }), logger });
    return await serveGateway({ gateway: gatewayOf(client, { access, records, credentialKeys, settings }) });
  }

  async function keyOf(name: string, grants: Grant[], more: Partial<NewApiKey> = {}) {
    const { text, keyId, digest } = newKeyText();
    await environment.store.keys.create({ keyId, digest, name, grants, ...more });
    const send = async (path: string, body?: object, method = body === undefined ? 'GET' : 'POST') => {
      const answer = await fetch(`${served.url}/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    return { send, keyId, text };
  }

  /** Asks as this one, and finds what waits. */
  async function asked({ send }: Pick<Awaited<ReturnType<typeof keyOf>>, 'send'>, userId = 'ada') {
    const names = { app: 'shop', userId, sessionId: randomUUID() };
    const session = `apps/shop/users/${userId}/sessions/${names.sessionId}`;
    expect((await send(`${session}/messages`, { message: 'pay' })).status).toBe(202);
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [request] = await environment.client.approvals.list(names);
    if (request === undefined) throw new Error('nobody was asked');
    await untilAsked(environment.temporal, request);
    return {
      names,
      session,
      request,
      now: () => environment.client.approvals.get({ requestId: request.requestId }),
    };
  }

  const APPROVES: Grant[] = [{ app: 'shop', roles: ['approve'] }];
  const RUNS: Grant[] = [{ app: 'shop', roles: ['run', 'read'] }];

  test('decides with others what takes several, and the audit names them [auth.keys]', async () => {
    const mira = await keyOf('mira', APPROVES);
    const jo = await keyOf('jo', APPROVES);
    const nora = await keyOf('nora', [...RUNS, ...APPROVES]);
    const { request, now, names } = await asked(nora);
    expect(request.requester).toBe('nora');
    const confirm = `approvals/${request.requestId}/confirm`;
    expect((await nora.send(confirm, { confirmed: true })).status).toBe(409);
    expect((await mira.send(confirm, { confirmed: true })).status).toBe(200);
    expect(await now()).toMatchObject({ status: 'pending', votes: [{ by: { principal: 'mira' } }] });
    // One person with two keys has one vote.
    const miraAgain = await keyOf('mira', APPROVES);
    await miraAgain.send(confirm, { confirmed: true });
    expect(await now()).toMatchObject({ status: 'pending' });
    expect((await jo.send(confirm, { confirmed: true })).status).toBe(200);
    await expect.poll(() => ran.filter((each) => each.startsWith(request.callKey))).toHaveLength(1);
    const audit = JSON.stringify(await environment.client.approvals.audit(names));
    for (const name of ['mira', 'jo', 'nora']) expect(audit).toContain(`"${name}"`);
    expect(await environment.client.approvals.verifyAudit(names)).toMatchObject({ ok: true });
  });

  test('does what was granted, and nothing else is there for them [auth.roles]', async () => {
    const runs = await keyOf('ada', RUNS);
    const { session, request } = await asked(runs);
    const approves = await keyOf('mira', APPROVES);
    const bank = await keyOf('boris', [{ app: 'bank', roles: ['run', 'read', 'approve', 'operate'] }]);
    const about = `approvals/${request.requestId}`;
    const nothing = await bank.send(`approvals/${another(request.requestId)}`);
    expect(nothing.status).toBe(404);
    for (const [path, body] of [
      [about],
      [`${about}/confirm`, { confirmed: true }],
      [`${about}/provide-input`, { response: {} }],
    ] as [string, object?][]) {
      expect(await bank.send(path, body)).toEqual(nothing);
    }
    const missing = await runs.send(`apps/shop/users/ada/sessions/${randomUUID()}`);
    expect(missing.status).toBe(404);
    for (const [path, body] of [
      [session],
      [`${session}/events`],
      [`${session}/audit`],
      [`${session}/messages`, { message: 'hi' }],
      [`${session}/interrupt`, {}],
      ['apps/shop/sessions'],
      ['apps/shop/credentials'],
    ] as [string, object?][]) {
      expect(await bank.send(path, body)).toEqual(missing);
    }
    // Their own app, and not their role.
    expect((await runs.send(`${about}/confirm`, { confirmed: true })).status).toBe(403);
    expect((await runs.send(`${session}/interrupt`, {})).status).toBe(403);
    expect((await approves.send(session)).status).toBe(403);
    expect((await approves.send(`${session}/messages`, { message: 'hi' })).status).toBe(403);
    expect((await approves.send(about)).status).toBe(200);
    expect((await approves.send('approvals')).status).toBe(403);
    expect((await approves.send('approvals?app=bank')).status).toBe(404);
    const listed = await approves.send('approvals?app=shop');
    expect(listed.text).toContain(request.requestId);
    expect((await approves.send('approvals?app=shop&app=bank')).status).toBe(400);
    expect((await approves.send('jobs?app=shop')).status).toBe(403);
  });

  test('for one user reaches that user’s sessions only [auth.roles]', async () => {
    const ada = await keyOf('ada', [{ app: '*', roles: ['run', 'read', 'approve', 'operate'] }], {
      userId: 'ada',
    });
    const { session, request } = await asked(ada);
    expect((await ada.send(session)).status).toBe(200);
    expect((await ada.send('approvals?app=shop&user=ada')).text).toContain(request.requestId);
    const bob = await keyOf('bob', [{ app: 'shop', roles: ['run', 'read', 'approve', 'operate'] }], {
      userId: 'bob',
    });
    const missing = await bob.send(`apps/shop/users/bob/sessions/${randomUUID()}`);
    expect(missing.status).toBe(404);
    expect(await bob.send(session)).toEqual(missing);
    expect(await bob.send(`${session}/messages`, { message: 'hi' })).toEqual(missing);
    expect(await bob.send(session, undefined, 'DELETE')).toEqual(missing);
    expect((await bob.send(`approvals/${request.requestId}/confirm`, { confirmed: true })).status).toBe(404);
    expect(await bob.send('approvals?app=shop&user=ada')).toEqual(missing);
    expect((await bob.send('approvals?app=shop')).status).toBe(403);
    expect((await bob.send('apps/shop/sessions')).status).toBe(403);
    const granted = await keyOf('carl', [{ app: 'shop', roles: ['read'], user: 'ada' }]);
    expect((await granted.send(session)).status).toBe(200);
    expect(await granted.send('apps/shop/users/bob/sessions/s1')).toEqual(missing);
  });

  test('is nobody once the key has expired or was revoked, everywhere within 5 seconds [auth.keys]', async () => {
    const elsewhere = await serve(defineGateway({ publicUrl: 'https://agents.example.com' }));
    try {
      const short = await keyOf('mira', RUNS, { expiresIn: 1 });
      await expect.poll(async () => (await short.send('apps/shop/sessions')).status).toBe(401);
      const { send, keyId, text } = await keyOf('mira', RUNS);
      const at = async (url: string) =>
        (await fetch(`${url}/v1/apps/shop/sessions`, { headers: { authorization: `Bearer ${text}` } }))
          .status;
      expect([await at(served.url), await at(elsewhere.url)]).toEqual([200, 200]);
      await environment.store.keys.revoke(keyId);
      const revoked = performance.now();
      for (const { url } of [served, elsewhere]) {
        const known: number[] = [];
        const next = async () => {
          const since = performance.now() - revoked;
          const status = await at(url);
          if (status === 200) known.push(since);
          return status;
        };
        await expect.poll(next, { interval: 100 }).toBe(401);
        expect(known.filter((since) => since > 5_000)).toEqual([]);
      }
      expect((await send('apps/shop/sessions')).text).toContain('HOLDFAST_GATEWAY_UNAUTHENTICATED');
    } finally {
      await elsewhere.close();
    }
  });

  if (isDeep) {
    test('follows nothing any more once the key was revoked [auth.keys]', async () => {
      const { keyId, text } = await keyOf('mira', RUNS);
      const events = `${served.url}/v1/apps/shop/users/ada/sessions/${randomUUID()}/events`;
      const headers = { authorization: `Bearer ${text}`, accept: 'text/event-stream' };
      const answer = await fetch(events, { headers });
      expect(answer.status).toBe(200);
      const ended = answer.text();
      await environment.store.keys.revoke(keyId);
      expect(await ended).not.toContain('event:');
      expect((await fetch(events, { headers })).status).toBe(401);
    });
  }

  test('shows it once in a request; whoever shows two is nobody [auth.keys]', async () => {
    const { text } = await keyOf('mira', RUNS);
    const sent = (authorization: string[]) =>
      new Promise<number | undefined>((resolve, reject) => {
        const url = new URL(`${served.url}/v1/apps/shop/sessions`);
        const headers = [['host', url.host], ...authorization.map((each) => ['authorization', each])].flat();
        httpRequest(url, { headers, agent: false }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await sent([`Bearer ${text}`])).toBe(200);
    expect(await sent([`Bearer ${text}`, `Bearer ${text}`])).toBe(401);
    expect(await sent(['Bearer x', `Bearer ${text}`])).toBe(401);
    expect(await sent([`Bearer ${text}, Bearer ${text}`])).toBe(401);
    expect(await sent([`Bearer ${localToken}`])).toBe(200);
    expect(await sent([])).toBe(401);
  });

  test('has its use noted [auth.keys]', async () => {
    const { send, keyId } = await keyOf('mira', RUNS);
    await send('apps/shop/sessions');
    await expect
      .poll(async () => (await environment.store.keys.find([keyId]))[0]?.usedAt)
      .toEqual(expect.any(Number));
  });
});

/** An id of the same form that nothing has. */
function another(id: string): string {
  return id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
}
