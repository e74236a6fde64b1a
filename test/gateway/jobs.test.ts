import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Access, Verdict } from '../../src/gateway/index.ts';
import { signJobToken } from '../../src/jobs/job-token.ts';
import type { JobClaims } from '../../src/store/jobs/job-store.ts';
import { type JobDesk, type Order, openJobDesk, tell } from '../setup/job-desk.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { checkedFetch, DocumentCheck, fetchDocument } from './document-check.ts';
import { HOST, stubGateway, TOKEN } from './gateway-stub.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const MEBI = 1024 * 1024;

let desk: JobDesk;
let check: DocumentCheck;
let ask: typeof fetch;
beforeAll(async () => {
  desk = await openJobDesk();
  check = new DocumentCheck(await fetchDocument(desk.env.gateway.url));
  ask = checkedFetch(check);
});
afterAll(() => desk.env.close());

async function parked(): Promise<Order & { turn: Awaited<ReturnType<JobDesk['begin']>>['turn'] }> {
  const { turn, thing } = await desk.begin('park');
  return { ...(await desk.order(thing)), turn };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const post = (token: string, body: unknown, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { ...bearer(token), ...JSON_TYPE, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
/** Of a request with a header that the protocol allows once. */
async function statusOfDoubled(url: string, tokens: readonly string[]): Promise<number | undefined> {
  const headers = tokens.flatMap((token) => ['authorization', `Bearer ${token}`]);
  const [answer] = await once(
    request(url, { headers: ['host', new URL(url).host, ...headers] }).end(),
    'response',
  );
  answer.resume();
  return answer.statusCode;
}

const codeOf = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code;

describe('the routes of a job', () => {
  test('take progress and the outcome by its token, answer late callers, and tell no more than is its own [job.callback]', async () => {
    const { callbackUrl, token, jobId, turn } = await parked();
    const half = await ask(`${callbackUrl}/progress`, post(token, { value: 0.5, message: 'half' }));
    expect([half.status, await half.json()]).toEqual([200, expect.objectContaining({ status: 'updated' })]);
    expect((await ask(`${callbackUrl}/progress`, { method: 'POST', headers: bearer(token) })).status).toBe(
      200,
    );
    const ended = await ask(`${callbackUrl}/complete`, post(token, { result: ['a', 'b'] }));
    const outcome = { response: { result: ['a', 'b'] }, failed: false };
    expect([ended.status, await ended.json()]).toEqual([
      200,
      { v: 1, jobId, callKey: expect.any(String), status: 'ended', job: 'completed', outcome },
    ]);
    const again = await ask(`${callbackUrl}/complete`, post(token, { result: ['a', 'b'] }));
    expect([again.status, await again.json()]).toEqual([
      200,
      expect.objectContaining({ status: 'duplicate', outcome }),
    ]);
    const late = await ask(`${callbackUrl}/fail`, post(token, { error: 'late' }));
    expect([late.status, await late.json()]).toEqual([
      200,
      expect.objectContaining({ status: 'known', outcome }),
    ]);
    const more = await ask(`${callbackUrl}/progress`, post(token, { value: 1 }));
    expect([more.status, await more.json()]).toEqual([
      409,
      {
        error: expect.objectContaining({
          code: 'HOLDFAST_JOB_ENDED',
          job: expect.objectContaining({ outcome }),
        }),
      },
    ]);
    const shown = await ask(callbackUrl, { headers: bearer(token) });
    expect(await shown.json()).toEqual({
      jobId,
      status: 'completed',
      progress: { value: 0.5, message: 'half', at: expect.any(Number) },
      outcome,
    });
    const whole = await ask(callbackUrl, { headers: bearer(desk.env.gateway.token) });
    expect(await whole.json()).toMatchObject({ jobId, tool: 'order', userId: 'ada', endedBy: 'callback' });
    expect((await desk.env.turnOf(turn)).calls[0]?.response).toEqual({ result: ['a', 'b'] });
  });

  test('of fifty callers at once one is first, and all are told the same outcome [job.callback]', async () => {
    const order = await parked();
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const answer =
          index % 5 === 0
            ? await tell(order, 'fail', { error: `${index}` })
            : await tell(order, 'complete', { result: { index } });
        return { status: answer.status, said: (await answer.json()) as { status: string; outcome: object } };
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.filter(({ said }) => said.status === 'ended')).toHaveLength(1);
    const outcomes = new Set(answers.map(({ said }) => JSON.stringify(said.outcome)));
    expect(outcomes.size).toBe(1);
    const [response] = (await desk.env.turnOf(order.turn)).calls.map((made) => made.response);
    expect([...outcomes].map((text) => JSON.parse(text).response)).toEqual([response]);
  });

  test('list jobs, and cancel one, for the gateway’s own token [job.cancel]', async () => {
    const { jobId, turn } = await parked();
    const { url, token } = desk.env.gateway;
    const session = turn.workflowId.split('/').at(-1) ?? '';
    const list = await ask(`${url}/v1/jobs?app=test&user=ada&session=${session}`, { headers: bearer(token) });
    expect(await list.json()).toMatchObject({ jobs: [{ jobId, status: 'running' }] });
    const cancelled = await ask(`${url}/v1/jobs/${jobId}/cancel`, post(token, { reason: 'no paper' }));
    expect(await cancelled.json()).toMatchObject({ status: 'ended', job: 'cancelled' });
    expect((await desk.env.turnOf(turn)).calls[0]?.response).toEqual({ error: 'cancelled: no paper' });
    const ended = await ask(`${url}/v1/jobs?app=test&status=cancelled,failed`, { headers: bearer(token) });
    expect(((await ended.json()) as { jobs: { jobId: string }[] }).jobs.map((job) => job.jobId)).toContain(
      jobId,
    );
    const none = `${url}/v1/jobs/job-${'x'.repeat(22)}`;
    expect((await ask(none, { headers: bearer(token) })).status).toBe(404);
    expect((await ask(`${none}/complete`, post(token, { result: 1 }))).status).toBe(404);
  });

  test('are all in the document, with each answer that was given [gateway.document]', () => {
    expect(check.unseen('Jobs')).toEqual([]);
  });

  test('answer with all fields of the document, and no others [gateway.document]', async () => {
    const { url, token } = desk.env.gateway;
    const { thing } = await desk.begin('tell');
    const { jobId } = await desk.order(thing);
    const job = await desk.env.client.jobs.get(jobId);
    await desk.env.store.jobs.recordPoll({ session: job?.session ?? '', jobId, error: 'not there' });
    await desk.env.client.jobs.progress(jobId, { value: 0.1, message: 'begun' });
    await desk.env.client.jobs.cancel(jobId, { reason: 'no paper', person: 'grace' });
    const shown = async () => {
      const answer = await ask(`${url}/v1/jobs/${jobId}`, { headers: bearer(token) });
      return (await answer.json()) as Record<string, unknown>;
    };
    await expect.poll(shown).toHaveProperty('deliveredSeq');
    expect([...check.undocumented]).toEqual([]);
    expect(
      ['Job', 'OwnJob', 'JobAnswer', 'JobOutcome', 'JobProgress'].flatMap((name) => check.unanswered(name)),
    ).toEqual([]);
  });
});

describe('the token of a job', () => {
  test('opens no other route, and no other job [job.token]', async () => {
    const { callbackUrl, token, jobId, turn } = await parked();
    const other = await parked();
    const own = [
      `${callbackUrl}`,
      ...['complete', 'fail', 'progress'].map((what) => `${callbackUrl}/${what}`),
    ];
    const routes = Object.entries(check.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security === undefined || security.length > 0)
        .map(([method]) => ({ method: method.toUpperCase(), path })),
    );
    expect(routes.length).toBeGreaterThan(30);
    for (const id of [jobId, other.jobId]) {
      for (const { method, path } of routes) {
        const filled = path.replace('{jobId}', id).replaceAll(/\{\w+\}/g, 'test');
        const url = `${desk.env.gateway.url}${filled}`;
        if (own.includes(url)) continue;
        const body = method === 'POST' ? { body: '{}', headers: { ...bearer(token), ...JSON_TYPE } } : {};
        const answer = await fetch(url, { method, headers: bearer(token), ...body });
        expect([method, path, answer.status]).toEqual([method, path, 401]);
        expect(await codeOf(answer)).toMatch(/^HOLDFAST_(GATEWAY_UNAUTHENTICATED|JOB_TOKEN_REFUSED)$/);
      }
    }
    expect((await desk.env.client.jobs.get(other.jobId))?.status).toBe('running');
    for (const each of [jobId, other.jobId]) await desk.env.client.jobs.complete(each, { result: 1 });
    await Promise.all([turn.result(), other.turn.result()]);
  });

  test('is refused where it is missing, changed, expired, doubled or another’s, before a body is read [job.token]', async () => {
    const { callbackUrl, token, jobId, turn } = await parked();
    const row = await desk.env.client.jobs.get(jobId);
    const { keys } = desk;
    const claims = row as unknown as JobClaims;
    const expired = signJobToken(keys, { ...claims, until: Date.now() - 8 * 86_400_000 });
    const elsewhere = signJobToken(keys, { ...claims, jobId: `job-${'x'.repeat(22)}` });
    expect(signJobToken(keys, claims)).toBe(token);
    const [head, body, signature] = token.split('.');
    const large = 'x'.repeat(1_000_000);
    for (const wrong of [
      expired,
      elsewhere,
      `${head}.${body}.`,
      `${head}.${body}`,
      `.${body}.${signature}`,
      'x',
      '',
    ]) {
      for (const what of ['complete', 'fail', 'progress']) {
        const answer = await ask(`${callbackUrl}/${what}`, post(wrong, large));
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
        if (wrong !== '') expect(await answer.text()).not.toContain(wrong);
      }
      expect((await ask(callbackUrl, { headers: bearer(wrong) })).status).toBe(401);
    }
    expect((await ask(callbackUrl)).status).toBe(401);
    expect(await statusOfDoubled(callbackUrl, [token, 'x'])).toBe(401);
    expect(await statusOfDoubled(callbackUrl, [token, token])).toBe(401);
    expect((await fetch(`${callbackUrl}?token=${token}`)).status).toBe(401);
    expect((await desk.env.client.jobs.get(jobId))?.status).toBe('running');
    await tell({ callbackUrl, token }, 'complete', { result: 1 });
    await turn.result();
  });

  test('is no way past the rules for web pages [job.token] [gateway.local]', async () => {
    const order = await parked();
    const path = new URL(order.callbackUrl).pathname;
    const { send } = stubGateway(desk.env.client);
    const own = { authorization: `Bearer ${order.token}`, host: HOST };
    expect((await send(path, { headers: own })).status).toBe(200);
    for (const foreign of [
      { ...own, host: 'evil.example' },
      { ...own, origin: 'https://evil.example' },
      { ...own, 'sec-fetch-site': 'cross-site' },
    ]) {
      expect((await send(path, { headers: foreign })).status).toBe(403);
      const said = { method: 'POST', headers: { ...foreign, ...JSON_TYPE }, body: '{"result":1}' };
      expect((await send(`${path}/complete`, said)).status).toBe(403);
    }
    await tell(order, 'complete', { result: 1 });
    await order.turn.result();
  });

  test('is neither logged nor answered [job.token]', async () => {
    const order = await parked();
    const { send, lines } = stubGateway(desk.env.client);
    const path = new URL(order.callbackUrl).pathname;
    const own = { authorization: `Bearer ${order.token}`, host: HOST, ...JSON_TYPE };
    const texts: string[] = [];
    for (const [url, body] of [
      [`${path}/progress`, '{"value":2}'],
      [`${path}/complete`, 'x'],
      [`${path}/complete`, '{"result":1}'],
      [`${path.slice(0, -3)}xyz/complete`, '{"result":1}'],
    ] as const) {
      texts.push(await (await send(url, { method: 'POST', headers: own, body })).text());
    }
    expect(JSON.stringify([lines, texts])).not.toContain(order.token.split('.')[2]);
    await order.turn.result();
  });
});

describe('bodies', () => {
  test.each(
    someOf([
      ['no JSON', '{"result":', {}, 400],
      ['nothing', '', {}, 400],
      ['no result', '{}', {}, 400],
      ['a field that there is not', '{"result":1,"ok":true}', {}, 400],
      ['no object', '[1]', {}, 400],
      ['another type', 'result=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
      ['text', '{"result":1}', { 'content-type': 'text/plain' }, 415],
      ['compressed', '{"result":1}', { 'content-encoding': 'gzip' }, 415],
      ['more than 10 MiB', `{"result":"${'x'.repeat(10 * MEBI)}"}`, {}, 413],
    ]),
  )('of %s is refused, and the job goes on [job.callback]', async (_what, body, headers, status) => {
    const { callbackUrl, token, jobId, turn } = await parked();
    expect((await ask(`${callbackUrl}/complete`, post(token, body, headers))).status).toBe(status);
    expect((await desk.env.client.jobs.get(jobId))?.status).toBe('running');
    await desk.env.client.jobs.complete(jobId, { result: 1 });
    await turn.result();
  });

  test('of an error, a message or a value over their bounds are refused [job.callback]', async () => {
    const { callbackUrl, token, turn } = await parked();
    for (const [what, body] of [
      ['fail', { error: 'x'.repeat(2_001) }],
      ['fail', { error: '' }],
      ['progress', { message: 'x'.repeat(501) }],
      ['progress', { value: -0.1 }],
      ['progress', { value: '1' }],
    ] as const) {
      expect((await ask(`${callbackUrl}/${what}`, post(token, body))).status).toBe(400);
    }
    expect((await ask(`${callbackUrl}/fail`, post(token, { error: '💡'.repeat(2_000) }))).status).toBe(200);
    await turn.result();
  });

  if (isDeep) {
    test('of almost 10 MiB are taken, and reach the turn [job.callback]', async () => {
      const order = await parked();
      const large = 'x'.repeat(10 * MEBI - 100);
      expect((await tell(order, 'complete', { result: { large } })).status).toBe(200);
      const { status, calls } = await desk.env.turnOf(order.turn);
      expect(status).toBe('completed');
      expect(calls[0]?.response?.large).toHaveLength(large.length);
    });
  }
});

test('other methods are told so to who has the gateway’s token only [job.token]', async () => {
  const { callbackUrl, token, turn } = await parked();
  const put = (given: string) => fetch(`${callbackUrl}/complete`, { method: 'PUT', headers: bearer(given) });
  expect((await put(token)).status).toBe(401);
  expect((await put(desk.env.gateway.token)).status).toBe(405);
  await tell({ callbackUrl, token }, 'complete', { result: 1 });
  await turn.result();
});

test('a job of a deleted session is not found, whoever asks [job.callback]', async () => {
  const { names, turn, thing } = await desk.begin('tell');
  const { callbackUrl, token } = await desk.order(thing);
  await turn.result();
  await desk.env.client.sessions.delete(names);
  for (const given of [token, desk.env.gateway.token]) {
    expect((await ask(`${callbackUrl}/complete`, post(given, { result: 1 }))).status).toBe(404);
    expect((await ask(callbackUrl, { headers: bearer(given) })).status).toBe(404);
  }
});

test.each(
  someOf([
    ['hidden', 404],
    ['forbidden', 403],
  ] as const),
)('a job of others is %s from who may not see it [job.token]', async (verdict: Verdict, status) => {
  const jobId = `job-${randomUUID().replaceAll('-', '').slice(0, 22)}`;
  const asked: unknown[] = [];
  const access: Access = {
    reach: 'loopback',
    screen: () => undefined,
    authenticate: () => ({
      name: 'eve',
      may: (need) => {
        asked.push(need);
        return verdict;
      },
    }),
  };
  const done: string[] = [];
  const jobs = {
    'jobs.get': () => ({ jobId, app: 'shop', userId: 'ada' }),
    ...Object.fromEntries(
      ['complete', 'fail', 'progress', 'cancel'].map((what) => [`jobs.${what}`, () => done.push(what)]),
    ),
  };
  const { send } = stubGateway(jobs, { access });
  for (const what of ['complete', 'fail', 'progress', 'cancel']) {
    const answer = await send(`/v1/jobs/${jobId}/${what}`, post(TOKEN, { result: 1 }));
    expect([what, answer.status]).toEqual([what, status]);
  }
  expect((await send(`/v1/jobs/${jobId}`)).status).toBe(status);
  expect(done).toEqual([]);
  expect(asked[0]).toEqual({ permission: 'operate', app: 'shop', userId: 'ada' });
});
