import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { signJobToken } from '../../src/jobs/job-token.ts';
import type { JobClaims } from '../../src/store/jobs/job-store.ts';
import { type JobDesk, type Order, openJobDesk, tell } from '../setup/job-desk.ts';
import { isDeep } from '../setup/tier.ts';
import { checkedFetch, DocumentCheck, fetchDocument } from './document-check.ts';
import { HOST, stubGateway } from './gateway-stub.ts';

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

describe('the routes of a job', () => {
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

  test('answer with all fields of the document, and no others [gateway.document]', async () => {
    const { url, token } = desk.env.gateway;
    const { thing } = await desk.begin('tell');
    const { jobId, token: own } = await desk.order(thing);
    const job = await desk.env.client.jobs.get(jobId);
    await desk.env.store.jobs.recordPoll({ session: job?.session ?? '', jobId, error: 'not there' });
    await desk.env.client.jobs.progress(jobId, { value: 0.1, message: 'begun' });
    await desk.env.client.jobs.cancel(jobId, { reason: 'no paper', person: 'grace' });
    const shown = async () => {
      const answer = await ask(`${url}/v1/jobs/${jobId}`, { headers: bearer(token) });
      return (await answer.json()) as Record<string, unknown>;
    };
    await expect.poll(shown).toHaveProperty('deliveredSeq');
    await ask(`${url}/v1/jobs/${jobId}/complete`, post(own, { result: 1 }));
    await ask(`${url}/v1/jobs/${jobId}`, { headers: bearer(own) });
    expect([...check.undocumented]).toEqual([]);
    expect(
      ['Job', 'OwnJob', 'JobAnswer', 'JobOutcome', 'JobProgress'].flatMap((name) => check.unanswered(name)),
    ).toEqual([]);
  });
});

describe('the token of a job', () => {
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

if (isDeep) {
  test('bodies of almost 10 MiB are taken, and reach the turn [job.callback]', async () => {
    const order = await parked();
    const large = 'x'.repeat(10 * MEBI - 100);
    expect((await tell(order, 'complete', { result: { large } })).status).toBe(200);
    const { status, calls } = await desk.env.turnOf(order.turn);
    expect(status).toBe('completed');
    expect(calls[0]?.response?.large).toHaveLength(large.length);
  });
}

test('other methods are told so to who has the gateway’s token only [job.token]', async () => {
  const { callbackUrl, token, turn } = await parked();
  const put = (given: string) => fetch(`${callbackUrl}/complete`, { method: 'PUT', headers: bearer(given) });
  expect((await put(token)).status).toBe(401);
  expect((await put(desk.env.gateway.token)).status).toBe(405);
  await tell({ callbackUrl, token }, 'complete', { result: 1 });
  await turn.result();
});
