import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { retryAfterOf } from '../../src/net/guarded-fetch.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { webhookNotifier } from '../../src/webhooks/webhook-notifier.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const PIN = 'S3CRET-4711';
const APPS = ['steady', 'flaky', 'gone', 'busy', 'redirects', 'nobody'] as const;

describe('webhooks that go out [webhook.out]', () => {
  let endpoint: Endpoint;
  let environment: TurnEnvironment;
  /** What nobody outside may reach. */
  const inner: string[] = [];
  const innerServer = createServer((request, response) => {
    inner.push(String(request.url));
    response.end();
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => innerServer.listen(0, '127.0.0.1', resolve));
    endpoint = await openEndpoint(secret);
    const pay = tool({
      name: 'pay',
      description: 'pays',
      parameters: {
        type: 'object',
        properties: { cents: { type: 'integer' }, pin: { type: 'string' } },
        required: ['cents'],
      },
      requireConfirmation: true,
      sensitive: ['pin'],
      approval: { allowEdit: true },
      execute: () => ({ paid: true }),
    });
    const apps = APPS.map((name) => {
      const at = name === 'nobody' ? '127.0.0.1:1' : endpoint.host;
      const hooks = webhookNotifier({ url: `http://${at}/${name}`, secrets: [secret], allowHosts: [at] });
      const rootAgent = new LlmAgent({ name: `of_${name}`, model: 'gemini-2.5-flash', tools: [pay] });
      return new App({ name, rootAgent, durable: { notifiers: [hooks] } });
    });
    environment = await openTurnEnvironment({
      apps,
      script: stepCalls([[{ name: 'pay', args: { cents: 700, pin: PIN } }]]),
    });
  });
  afterAll(async () => {
    await environment?.close();
    await endpoint?.close();
    innerServer.close();
  });

  async function asked(app: (typeof APPS)[number]) {
    const names = { app, userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'pay' });
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [request] = await environment.client.approvals.list(names);
    return { names, turn, requestId: request?.requestId ?? '', hooks: () => endpoint.of(names.sessionId) };
  }

  test('tell what opens and what becomes of it, and nothing that is sensitive', async () => {
    const { turn, requestId, hooks } = await asked('steady');
    await expect.poll(hooks).toHaveLength(1);
    await environment.client.approvals.confirm({ requestId }, { confirmed: true, args: { cents: 500 } });
    await turn.result();
    await expect.poll(hooks).toHaveLength(2);
    const [opened, ended] = hooks();
    expect(opened).toMatchObject({
      type: 'request.opened',
      data: { requestId, tool: 'pay', args: { cents: 700, pin: '(sensitive)' } },
    });
    expect(ended).toMatchObject({
      type: 'request.ended',
      data: { requestId, status: 'approved', editedArgs: { cents: 500, pin: '(sensitive)' } },
    });
    expect(opened?.id).not.toBe(ended?.id);
    expect(JSON.stringify(hooks())).not.toContain(PIN);
  });

  test('reach an endpoint that was down once it is up, each with one id and one body, and hold no turn', async () => {
    endpoint.answers.set('/flaky', (response) => response.writeHead(500).end());
    const { turn, requestId, hooks } = await asked('flaky');
    await expect.poll(() => hooks().length).toBeGreaterThan(2);
    endpoint.answers.delete('/flaky');
    const failed = hooks().length;
    await expect.poll(() => hooks().length).toBe(failed + 1);
    expect(new Set(hooks().map(({ id }) => id)).size).toBe(1);
    expect(new Set(hooks().map(({ body }) => body)).size).toBe(1);
    // Each attempt is signed with its own time, as the standard has it: a receiver takes none that is five minutes old.
    for (const { timestamp, at } of hooks()) expect(at / 1_000 - timestamp).toBeLessThan(30);
    expect(new Set(hooks().map(({ timestamp }) => timestamp)).size).toBeGreaterThan(1);
    endpoint.answers.set('/flaky', (response) => void response.destroy());
    await environment.client.approvals.confirm({ requestId }, { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    endpoint.answers.delete('/flaky');
    const isEnd = ({ type }: { type: string }) => type === 'request.ended';
    await expect.poll(() => hooks().filter(isEnd).length).toBeGreaterThan(1);
    expect(
      new Set(
        hooks()
          .filter(isEnd)
          .map(({ id }) => id),
      ).size,
    ).toBe(1);
  });

  test('stop at a 410, and are dead at once', async () => {
    endpoint.answers.set('/gone', (response) => response.writeHead(410).end());
    const { requestId, hooks } = await asked('gone');
    const dead = async () =>
      (await environment.store.notices.listDeadNotices({ app: 'gone' })).find(
        (each) => each.requestId === requestId,
      );
    await expect.poll(dead).toMatchObject({
      notifier: 'webhook',
      why: 'opened',
      attempts: 1,
      error: expect.stringContaining('410'),
    });
    expect(hooks()).toHaveLength(1);
  });

  if (isDeep) {
    test('wait for as long as they are told to', async () => {
      let refused = 0;
      endpoint.answers.set('/busy', (response) => {
        refused += 1;
        response.writeHead(refused === 1 ? 429 : 204, { 'retry-after': '3' }).end();
      });
      const { hooks } = await asked('busy');
      await expect.poll(() => hooks().length).toBe(2);
      const [first, second] = hooks();
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
    });
  }

  test.each(someOf([302, 307]))('follow no redirect to what is inside: %i [webhook.ssrf]', async (status) => {
    const location = `http://127.0.0.1:${(innerServer.address() as AddressInfo).port}/inner`;
    endpoint.answers.set('/redirects', (response) => response.writeHead(status, { location }).end());
    const { hooks } = await asked('redirects');
    await expect.poll(() => hooks().length).toBeGreaterThan(1);
    expect(inner).toEqual([]);
  });

  test('to nobody hold no turn', async () => {
    const { turn, requestId } = await asked('nobody');
    await environment.client.approvals.confirm({ requestId }, { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
  });
});

describe('options of webhooks that go out [webhook.out]', () => {
  const fine = { url: 'https://desk.example.com/hooks', secrets: secret };

  test.each<[string, object, string]>([
    ['a private address', { ...fine, url: 'https://10.0.0.1/' }, 'url'],
    ['no TLS', { ...fine, url: 'http://desk.example.com/' }, 'url'],
    ['no URL', { ...fine, url: undefined }, 'url'],
    ['a short secret', { ...fine, secrets: 'short' }, 'secrets'],
    ['no secret', { ...fine, secrets: [] }, 'secrets'],
    ['a secret that is none', { ...fine, secrets: [7] }, 'secrets'],
    ['an unknown event', { ...fine, events: ['request.eaten'] }, 'events'],
    ['no event', { ...fine, events: [] }, 'events'],
    ['hosts that are none', { ...fine, allowHosts: 'desk' }, 'allowHosts'],
    ['an unknown option', { ...fine, secret: 'x' }, 'secret'],
  ])('%s is refused by name, and quoted nowhere', (_what, options, field) => {
    const make = () => webhookNotifier(options as Parameters<typeof webhookNotifier>[0]);
    expect(make).toThrow(expect.objectContaining({ name: 'DefinitionError' }));
    expect(make).toThrow(new RegExp(field));
    expect(make).not.toThrow(/10\.0\.0\.1\/|whsec_/);
  });

  test('without ends nobody is told of them', () => {
    expect(webhookNotifier({ ...fine, events: ['request.opened'] }).ended).toBeUndefined();
    expect(webhookNotifier(fine).ended).toBeDefined();
  });

  test.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ['7', 7_000],
    ['-7', undefined],
    ['soon', undefined],
    ['Thu, 01 Jan 1970 00:01:00 GMT', 50_000],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ])('Retry-After: %s', (header, wanted) => {
    expect(retryAfterOf(header, 10_000)).toBe(wanted);
  });
});
