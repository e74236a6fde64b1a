import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  defineGateway,
  type ServedGateway,
  serveGateway,
  type WebhookEvent,
  type WebhookHoldfast,
  type WebhookRequest,
} from '../../src/gateway/index.ts';
import { WebhookNotReady } from '../../src/gateway/webhooks/webhook-not-ready.ts';
import { signWebhook, webhookSecret } from '../../src/net/signatures.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { gatewayOf } from '../channels/named-access.ts';
import { collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const older = `whsec_${randomBytes(32).toString('base64')}`;
const own = 'a secret of a service with a way of its own';
const credentialKeys = { k1: randomBytes(32).toString('base64') };

type Handle = (event: WebhookEvent, holdfast: WebhookHoldfast) => Promise<unknown>;

/** What is done with the deliveries of an id. */
const handles = new Map<string, Handle>();
const handled: string[] = [];

async function handle(event: WebhookEvent, holdfast: WebhookHoldfast) {
  handled.push(event.id);
  return { body: (await handles.get(event.id)?.(event, holdfast)) ?? { fine: true } };
}

/** As services have it that sign the body alone. */
function isSigned({ headers, body }: WebhookRequest, secrets: readonly string[]): boolean {
  const given = Buffer.from(String(headers['x-signature']), 'hex');
  return secrets.some((key) => {
    const wanted = createHmac('sha256', key).update(body).digest();
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

const gateway = defineGateway({
  webhooks: {
    desk: { secrets: () => [secret, older], persons: ['mira'], handle },
    own: {
      secrets: own,
      verify: (request, secrets) =>
        isSigned(request, secrets) ? { id: String(request.headers['x-delivery']) } : undefined,
      handle,
    },
    nameless: {
      secrets: () => own,
      verify: (request, secrets) => (isSigned(request, secrets) ? {} : undefined),
      handle,
    },
    covered: {
      secrets: [own],
      verify: (request, [key = '']) => {
        const id = String(request.headers['x-delivery']);
        const signed = { ...request, body: Buffer.concat([Buffer.from(id), request.body]) };
        return isSigned(signed, [key]) ? { id, idIsSigned: true } : undefined;
      },
      handle,
    },
    odd: {
      verify() {
        throw new Error('S3CRET of the way');
      },
      handle,
    },
  },
});

interface Sent {
  id?: string;
  body?: string;
  at?: number;
  with?: string;
  source?: string;
}

describe('webhooks that come in [webhook.in]', () => {
  const lines: LoggedLine[] = [];
  let environment: TurnEnvironment;
  let served: ServedGateway;
  let inProcess: ReturnType<typeof gatewayOf>;

  beforeAll(async () => {
    const rootAgent = new LlmAgent({
      name: 'desk',
      model: 'gemini-2.5-flash',
      tools: [
        tool({
          name: 'pay',
          description: 'pays',
          requireConfirmation: true,
          approval: { approvers: ['mira'] },
          execute: () => ({ paid: true }),
        }),
        tool({
          name: 'ask',
          description: 'asks',
          execute: async (_args, context) => ({
            size: await context.requestInput({ message: 'Which size?' }),
          }),
        }),
        new LongRunningFunctionTool({ name: 'build', description: 'builds', execute: () => undefined }),
      ],
    });
    environment = await openTurnEnvironment({
      apps: [new App({ name: 'shop', rootAgent })],
      script: stepCalls([[{ name: 'pay' }]]),
      workerOptions: { credentialKeys },
    });
    const settings = {
      records: environment.store,
      settings: gateway,
      credentialKeys,
      logger: collecting(lines),
    };
    inProcess = gatewayOf(environment.client, settings);
    served = await serveGateway({ gateway: inProcess });
  });
  afterAll(async () => {
    await served?.close();
    await environment?.close();
  });

  function signed({
    id = randomUUID(),
    body = '{"type":"a.b"}',
    at = Date.now(),
    with: by = secret,
  }: Sent = {}) {
    const timestamp = Math.floor(at / 1_000);
    return {
      body,
      headers: signWebhook([webhookSecret(by)], { id, timestamp, body }) as Record<string, string>,
    };
  }

  async function post(source: string, headers: Record<string, string>, body: string | Uint8Array) {
    const answer = await fetch(`${served.url}/v1/webhooks/${source}`, { method: 'POST', headers, body });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: answer.headers,
    };
  }

  async function send(sent: Sent = {}) {
    const { headers, body } = signed(sent);
    return await post(sent.source ?? 'desk', headers, body);
  }

  async function asked(calls = [[{ name: 'pay' }]]) {
    environment.gemini.reset(stepCalls(calls));
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    return { names, turn };
  }

  async function requestOf(names: { app: string; userId: string; sessionId: string }) {
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [request] = await environment.client.approvals.list(names);
    return request?.requestId ?? '';
  }

  test('decide as a person of the source, and the audit names the channel', async () => {
    const { names, turn } = await asked();
    const requestId = await requestOf(names);
    const id = randomUUID();
    handles.set(id, async ({ json, type }, { confirm }) => {
      expect(type).toBe('ticket.closed');
      return await confirm(json as { requestId: string }, { confirmed: true, person: 'mira' });
    });
    const body = JSON.stringify({ type: 'ticket.closed', requestId });
    expect(await send({ id, body })).toMatchObject({ status: 200, body: { status: 'approved' } });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(await environment.client.approvals.get({ requestId })).toMatchObject({
      votes: [{ by: { principal: 'mira', verified: true, channel: 'webhook' } }],
    });
  });

  test('name nobody else, and decide nothing as who they are not', async () => {
    const { names } = await asked();
    const requestId = await requestOf(names);
    for (const person of ['otto', 'webhook:own', undefined]) {
      const id = randomUUID();
      handles.set(id, async (_event, { confirm }) => {
        await confirm({ requestId }, { confirmed: true, ...(person === undefined ? {} : { person }) });
      });
      expect(await send({ id })).toMatchObject({ status: expect.any(Number) });
      expect(await environment.client.approvals.get({ requestId })).toMatchObject({ status: 'pending' });
    }
  });

  test('answer questions and end jobs', async () => {
    const question = await asked([[{ name: 'ask' }]]);
    const requestId = await requestOf(question.names);
    const answer = randomUUID();
    handles.set(answer, (_event, { provideInput }) => provideInput({ requestId }, { response: 'L' }));
    // The row of a request is there before its workflow waits: an answer in between is kept for it.
    const body = { status: expect.stringMatching(/^(answered|kept)$/) };
    expect(await send({ id: answer })).toMatchObject({ status: 200, body });
    await question.turn.result();
    const work = await asked([[{ name: 'build' }]]);
    const jobs = () => environment.client.jobs.list(work.names);
    await expect.poll(jobs).toHaveLength(1);
    const [job] = await jobs();
    const done = randomUUID();
    handles.set(done, (_event, { completeJob }) => completeJob(job?.jobId ?? '', { result: { built: 7 } }));
    expect(await send({ id: done })).toMatchObject({
      status: 200,
      body: { status: 'ended', job: 'completed' },
    });
    await work.turn.result();
  });

  test('are handled once, and answered as the first time, whenever they come again', async () => {
    const id = randomUUID();
    let count = 0;
    handles.set(id, async () => ({ count: ++count }));
    const answers = [
      await send({ id }),
      await send({ id, at: Date.now() + 60_000 }),
      await send({ id, with: older }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { count: 1 } });
    expect(handled.filter((each) => each === id)).toHaveLength(1);
  });

  test('that come twice at once are handled once, and the other one comes again', async () => {
    const id = randomUUID();
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    handles.set(id, async () => {
      begun.resolve();
      await goOn.promise;
    });
    const first = send({ id });
    await begun.promise;
    const busy = await send({ id });
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '10']);
    goOn.resolve();
    expect(await first).toMatchObject({ status: 200 });
    expect(await send({ id })).toMatchObject({ status: 200 });
    expect(handled.filter((each) => each === id)).toHaveLength(1);
  });

  if (isDeep) {
    test('whose handler takes long come again for its answer, and are handled once', async () => {
      const id = randomUUID();
      const goOn = Promise.withResolvers<void>();
      handles.set(id, async () => {
        await goOn.promise;
        return { slow: true };
      });
      expect(await send({ id })).toMatchObject({ status: 503 });
      goOn.resolve();
      await expect.poll(() => send({ id })).toMatchObject({ status: 200, body: { slow: true } });
      expect(handled.filter((each) => each === id)).toHaveLength(1);
    });
  }

  test('whose handler throws come again; a message that was sent by then is sent once', async () => {
    const id = randomUUID();
    const sessionId = randomUUID();
    environment.gemini.reset(stepCalls([]));
    let count = 0;
    handles.set(id, async (_event, { sendMessage }) => {
      const { invocationId } = await sendMessage({ app: 'shop', userId: 'ada', sessionId, message: 'hello' });
      count += 1;
      if (count === 1) throw new Error('S3CRET of the handler');
      return { invocationId };
    });
    const failed = await send({ id });
    expect(failed.status).toBe(500);
    expect(JSON.stringify(failed.body)).not.toContain('S3CRET');
    const requestId = failed.headers.get('x-request-id');
    expect(
      lines.filter(({ level, attributes }) => level === 'error' && attributes.requestId === requestId),
    ).toHaveLength(1);
    expect(await send({ id })).toMatchObject({ status: 200, body: { invocationId: expect.any(String) } });
    const names = { app: 'shop', userId: 'ada', sessionId };
    const messages = async () =>
      (await environment.store.sessions.readEvents(names)).filter(({ kind }) => kind === 'message');
    await expect.poll(messages).toHaveLength(1);
    await expect.poll(async () => (await environment.client.status(names))?.status).not.toBe('running');
    expect(await messages()).toHaveLength(1);
  });

  test('by a way of their own are believed by that alone', async () => {
    const body = 'a=1&b=2';
    const signature = createHmac('sha256', own).update(body).digest('hex');
    const id = randomUUID();
    const events: WebhookEvent[] = [];
    handles.set(id, async (event) => void events.push(event));
    const headers = { 'x-signature': signature, 'x-delivery': id, authorization: 'Bearer S3CRET' };
    expect(await post('own', headers, body)).toMatchObject({ status: 200 });
    const [seen] = events;
    expect(seen).toMatchObject({ id, text: body, json: undefined });
    expect(seen?.headers).toMatchObject({ 'x-delivery': id });
    expect(JSON.stringify(seen)).not.toContain('S3CRET');
    expect(
      await post('own', { ...headers, 'x-signature': signature.replace(/^./, 'z') }, body),
    ).toMatchObject({ status: 401 });
    expect(await post('own', headers, `${body}&c=3`)).toMatchObject({ status: 401 });
    expect(await post('own', { ...headers, 'x-delivery': 'x'.repeat(300) }, body)).toMatchObject({
      status: 401,
    });
    // A signature of another source's way is none here.
    expect(await send({ source: 'own' })).toMatchObject({ status: 401 });
  });

  test.each(['own', 'nameless'])('whose id is not signed are known by their body: %s', async (source) => {
    const body = JSON.stringify({ event: randomUUID() });
    const signature = createHmac('sha256', own).update(body).digest('hex');
    const before = handled.length;
    for (const id of [randomUUID(), randomUUID(), randomUUID()]) {
      const headers = { 'x-signature': signature, 'x-delivery': id };
      expect(await post(source, headers, body)).toMatchObject({ status: 200 });
    }
    expect(handled).toHaveLength(before + 1);
    const other = JSON.stringify({ event: randomUUID() });
    const signed = { 'x-signature': createHmac('sha256', own).update(other).digest('hex') };
    expect(await post(source, { ...signed, 'x-delivery': randomUUID() }, other)).toMatchObject({
      status: 200,
    });
    expect(handled).toHaveLength(before + 2);
  });

  test('whose id is signed are known by it', async () => {
    const body = JSON.stringify({ event: 'the same' });
    const before = handled.length;
    for (const id of ['one', 'two', 'one']) {
      const signature = createHmac('sha256', own).update(id).update(body).digest('hex');
      expect(await post('covered', { 'x-signature': signature, 'x-delivery': id }, body)).toMatchObject({
        status: 200,
      });
    }
    expect(handled.slice(before)).toEqual(['one', 'two']);
    const signature = createHmac('sha256', own).update('one').update(body).digest('hex');
    expect(await post('covered', { 'x-signature': signature, 'x-delivery': 'three' }, body)).toMatchObject({
      status: 401,
    });
  });

  const forged: [string, () => Promise<{ status: number }>][] = [
    ['no headers', () => post('desk', {}, '{}')],
    ['a forged signature', () => send({ with: `whsec_${randomBytes(32).toString('base64')}` })],
    ['an old one', () => send({ at: Date.now() - 6 * 60_000 })],
    ['one of the time to come', () => send({ at: Date.now() + 6 * 60_000 })],
    ['another body', () => post('desk', signed().headers, '{"type":"a.c"}')],
    ['another id', () => post('desk', { ...signed().headers, 'webhook-id': randomUUID() }, signed().body)],
    [
      'an asymmetric one',
      () => post('desk', { ...signed().headers, 'webhook-signature': 'v1a,AAAA' }, signed().body),
    ],
    ['an empty one', () => post('desk', { ...signed().headers, 'webhook-signature': 'v1,' }, signed().body)],
  ];

  test.each(forged)('%s: refused, and nothing is handled', async (_what, attack) => {
    const before = handled.length;
    expect((await attack()).status).toBe(401);
    expect(handled).toHaveLength(before);
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'two headers %s: refused',
    async (name) => {
      const { headers, body } = signed();
      const before = handled.length;
      for (const other of [headers[name] ?? '', 'x']) {
        const pairs = Object.entries(headers).flatMap(([key, value]) =>
          key === name ? [key, value, key, other] : [key, value],
        );
        expect(await raw(pairs, body)).toBe(401);
        const first = Object.entries(headers).flatMap(([key, value]) =>
          key === name ? [key, other, key, value] : [key, value],
        );
        expect(await raw(first, body)).toBe(401);
      }
      expect(handled).toHaveLength(before);
    },
  );

  /** As no well-meaning client sends it. */
  function raw(headers: string[], body: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const { host, port } = new URL(served.url);
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path: '/v1/webhooks/desk',
        method: 'POST',
        headers: ['host', host, 'content-length', String(Buffer.byteLength(body)), ...headers],
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.once('error', reject);
    sent.end(body);
    return promise;
  }

  test('large bodies are refused before they are read, whatever they say of their size', async () => {
    const large = 'x'.repeat(10 * 1024 * 1024);
    const { headers } = signed({ body: large });
    // The other side may hang up before all of it is sent.
    const status = await post('desk', headers, large).then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
    const inPieces = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(Buffer.alloc(256 * 1024));
      },
    });
    const init = { method: 'POST', headers, body: inPieces, duplex: 'half' } as RequestInit;
    const chunked = await fetch(`${served.url}/v1/webhooks/desk`, init).then(
      (answer) => answer.status,
      () => 413,
    );
    expect(chunked).toBe(413);
    const fits = JSON.stringify({ much: 'x'.repeat(1024 * 1024 - 100) });
    expect(await send({ body: fits })).toMatchObject({ status: 200 });
    const packed = await post('desk', { ...signed().headers, 'content-encoding': 'gzip' }, signed().body);
    expect(packed.status).toBe(415);
  });

  test('nobody learns which sources there are', async () => {
    const large = 'x'.repeat(2 * 1024 * 1024);
    const tries: [string, Record<string, string>, string][] = [
      [
        'signed by somebody else',
        signed({ with: `whsec_${randomBytes(32).toString('base64')}` }).headers,
        '{}',
      ],
      ['without headers', {}, '{}'],
      ['packed', { ...signed().headers, 'content-encoding': 'gzip' }, '{}'],
      ['too large', { 'content-length': String(large.length) }, large],
    ];
    for (const [what, headers, body] of tries) {
      const answers = [];
      for (const source of ['desk', 'own', 'odd', 'other', 'DESK', 'desk%2f', '__proto__', 'constructor']) {
        const init = { method: 'POST', headers, body };
        const answer = await inProcess.request(`/v1/webhooks/${source}`, init);
        const { error } = (await answer.json()) as { error: { code: string } };
        answers.push(JSON.stringify([answer.status, error.code, [...answer.headers.keys()]]));
      }
      expect([what, new Set(answers).size]).toEqual([what, 1]);
    }
    const known = await send({ with: older, source: 'other' });
    expect([known.status, known.body.error.code]).toEqual([401, 'HOLDFAST_GATEWAY_UNAUTHENTICATED']);
    const told = lines.filter(({ message }) => message === 'a webhook was refused');
    expect(told.map(({ attributes }) => attributes.flaw)).toContain('there is no such source');
  });

  test.each<[string, () => string | string[]]>([
    ['no secret', () => ''],
    ['one that could be guessed', () => ['short']],
    ['none at all', () => []],
  ])('a gateway whose function gives %s does not start', (_what, secrets) => {
    const verify = () => ({});
    for (const way of [{ secrets }, { secrets, verify }]) {
      const settings = defineGateway({ webhooks: { desk: { ...way, handle: async () => undefined } } });
      const start = () => gatewayOf(environment.client, { records: environment.store, settings });
      expect(start).toThrow(expect.objectContaining({ name: 'DefinitionError' }));
      expect(start).toThrow(/webhooks\["desk"\]\.secrets/);
    }
  });

  test('a source that cannot know now whether one is genuine has its sender come again, and loses nothing', async () => {
    let isAway = true;
    const asked = { retryAfter: 2_500 };
    const key = () => {
      if (isAway) throw new WebhookNotReady('the vault is away: S3CRET', asked);
      return secret;
    };
    const handled: string[] = [];
    const handle = async ({ id }: { id: string }) => void handled.push(id);
    const desk = gatewayOf(environment.client, {
      records: environment.store,
      settings: defineGateway({
        webhooks: {
          // The gateway starts nonetheless.
          vault: { secrets: key, handle },
          keys: { verify: async () => (key() === secret ? { id: 'known' } : undefined), handle },
        },
      }),
    });
    for (const source of ['vault', 'keys']) {
      isAway = true;
      const { headers, body } = signed();
      const send = () => desk.request(`/v1/webhooks/${source}`, { method: 'POST', headers, body });
      const away = await send();
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, '3']);
      const text = await away.text();
      expect(JSON.parse(text).error.code).toBe('HOLDFAST_WEBHOOK_NOT_READY');
      expect(text).not.toContain('S3CRET');
      isAway = false;
      expect((await send()).status).toBe(200);
    }
    expect(handled).toHaveLength(2);
  });

  test('answers that are none, and much too large ones, are failures of the handler', async () => {
    for (const answer of [7, { status: 302 }, { body: 'x'.repeat(70_000) }]) {
      const desk = gatewayOf(environment.client, {
        records: environment.store,
        settings: defineGateway({
          webhooks: { odd: { secrets: secret, handle: async () => answer as { status: number } } },
        }),
      });
      const { headers, body } = signed();
      const { status } = await desk.request('/v1/webhooks/odd', { method: 'POST', headers, body });
      expect(status).toBe(500);
    }
  });
});

describe('sources of webhooks [webhook.in]', () => {
  const handler = async () => undefined;
  test.each<[string, unknown, string]>([
    ['a name', { 'Desk 1': { secrets: secret, handle: handler } }, 'Desk 1'],
    ['no secret', { desk: { handle: handler } }, 'secrets'],
    ['a short secret', { desk: { secrets: 'S3CRET', handle: handler } }, 'secrets'],
    [
      'an empty secret of a way of its own',
      { desk: { secrets: '', verify: () => ({}), handle: handler } },
      'secrets',
    ],
    ['no handler', { desk: { secrets: secret } }, 'handle'],
    ['an unknown way', { desk: { secrets: secret, verify: 'none', handle: handler } }, 'verify'],
    ['persons', { desk: { secrets: secret, persons: 'mira', handle: handler } }, 'persons'],
    ['an unknown field', { desk: { secrets: secret, handle: handler, hande: handler } }, 'hande'],
    ['no sources', [], 'webhooks'],
  ])('%s: refused by name', (_what, webhooks, field) => {
    const define = () => defineGateway({ webhooks: webhooks as Record<string, never> });
    expect(define).toThrow(new RegExp(field));
    expect(define).not.toThrow(/S3CRET|whsec_/);
  });

  test('without a store they are off, and said to be', async () => {
    const lines: LoggedLine[] = [];
    const off = gatewayOf({} as TurnEnvironment['client'], { settings: gateway, logger: collecting(lines) });
    expect((await off.request('/v1/webhooks/desk', { method: 'POST' })).status).toBe(404);
    expect(lines).toMatchObject([
      { level: 'warn', message: expect.stringContaining('webhooks are off') },
      {},
    ]);
  });
});
