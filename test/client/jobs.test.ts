import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StreamItem } from '../../src/client/index.ts';
import {
  GatewayClient,
  HoldfastClient,
  InvalidJob,
  InvalidTurn,
  JobNotFound,
  type Jobs,
  JobTokenRefused,
} from '../../src/client/index.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { signJobToken } from '../../src/jobs/job-token.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import { type JobDesk, openJobDesk, responseTo } from '../setup/job-desk.ts';
import { inTier, isDeep, someOf } from '../setup/tier.ts';

let desk: JobDesk;
beforeAll(async () => {
  desk = await openJobDesk();
});
afterAll(() => desk.env.close());

const NONE = `job-${'x'.repeat(22)}`;
// Through the gateway both are asked.
describe.each(inTier(['GatewayClient'], ['HoldfastClient', 'GatewayClient']))('jobs of a %s', (kind) => {
  const jobsOf = (): Jobs =>
    (kind === 'HoldfastClient' ? desk.env.client : new GatewayClient(desk.env.gateway)).jobs;

  test('its service ends a job that the turn waits for, by the token, and who comes later is told the outcome [job.callback]', async () => {
    const { turn, thing } = await desk.begin('park');
    const { jobId, token } = await desk.order(thing);
    const jobs = jobsOf();
    expect(await jobs.progress(jobId, { value: 0.5, message: 'half', token })).toMatchObject({
      status: 'updated',
      job: 'running',
    });
    const outcome = { response: { url: thing }, failed: false };
    const ended = await jobs.complete(jobId, { result: { url: thing }, token });
    expect(ended).toMatchObject({ status: 'ended', job: 'completed', jobId, outcome });
    expect(await desk.env.turnOf(turn)).toMatchObject({
      status: 'completed',
      calls: [{ tool: 'order', response: { url: thing } }],
    });
    expect(await jobs.complete(jobId, { result: { url: thing }, token })).toMatchObject({
      status: 'duplicate',
      outcome,
    });
    for (const late of [
      await jobs.complete(jobId, { result: 'other' }),
      await jobs.fail(jobId, { error: 'too late', token }),
      await jobs.cancel(jobId, { reason: 'too late' }),
    ]) {
      expect(late).toMatchObject({ status: 'known', job: 'completed', outcome });
    }
    expect(await jobs.progress(jobId, { value: 1, token })).toMatchObject({ status: 'refused', outcome });
    expect(await jobs.get(jobId, { token })).toEqual({
      jobId,
      status: 'completed',
      progress: { value: 0.5, message: 'half', at: expect.any(Number) },
      outcome,
    });
    expect(await jobs.get(jobId)).toMatchObject({ jobId, tool: 'order', endedBy: 'callback' });
  });

  test('whoever follows its session hears how a job gets on, and the status shows it [job.progress]', async () => {
    const { names, turn, thing } = await desk.begin('park');
    const client = kind === 'HoldfastClient' ? desk.env.client : new GatewayClient(desk.env.gateway);
    const stop = new AbortController();
    const heard: StreamItem[] = [];
    const following = (async () => {
      for await (const item of client.stream(names, { signal: stop.signal })) heard.push(item);
    })();
    const heardOfJob = () => heard.flatMap((item) => (item.type === 'job' ? [item] : []));
    const { jobId, token } = await desk.order(thing);
    await desk.env.jobs(turn);
    await client.jobs.progress(jobId, { value: 0.25, message: 'a quarter', token });
    await expect
      .poll(() => heardOfJob().at(-1))
      .toMatchObject({
        ...{ jobId, tool: 'order', status: 'running', mode: 'parked' },
        progress: { value: 0.25, message: 'a quarter' },
      });
    await expect
      .poll(() => client.status(names))
      .toMatchObject({ status: 'waiting_job', jobs: [{ jobId, progress: { value: 0.25 } }] });
    await client.jobs.complete(jobId, { result: 1, token });
    await turn.result();
    await expect.poll(() => heardOfJob().at(-1)).toMatchObject({ status: 'completed' });
    stop.abort();
    await following;
  });

  test('an operator lists, fails and cancels jobs, and the model is told [job.callback] [job.cancel]', async () => {
    const failing = await desk.begin('park');
    const cancelled = await desk.begin('park');
    const [first, second] = [await desk.order(failing.thing), await desk.order(cancelled.thing)];
    const jobs = jobsOf();
    expect((await jobs.list(failing.names)).map(({ jobId }) => jobId)).toEqual([first.jobId]);
    await jobs.fail(first.jobId, { error: 'out of paper' });
    await jobs.cancel(second.jobId, { reason: 'nobody reads it' });
    expect((await desk.env.turnOf(failing.turn)).calls[0]?.response).toEqual({ error: 'out of paper' });
    expect((await desk.env.turnOf(cancelled.turn)).calls[0]?.response).toEqual({
      error: 'cancelled: nobody reads it',
    });
    expect(desk.cancelled).toContain(second.jobId);
    expect(desk.cancelled).not.toContain(first.jobId);
    expect(await jobs.list(failing.names)).toEqual([]);
    expect(await jobs.list({ ...failing.names, status: ['failed'] })).toMatchObject([
      { endedBy: 'operator' },
    ]);
  });

  test('what is no job is not found, and what can’t be taken changes nothing [job.callback]', async () => {
    const { turn, thing } = await desk.begin('park');
    const { jobId } = await desk.order(thing);
    const jobs = jobsOf();
    expect(await jobs.get(NONE)).toBeUndefined();
    await expect(jobs.complete(NONE, { result: 1 })).rejects.toThrow(JobNotFound);
    await expect(jobs.cancel(NONE)).rejects.toThrow(JobNotFound);
    let deep: unknown = 1;
    for (let level = 0; level < 110; level += 1) deep = [deep];
    const wrong: [() => Promise<unknown>, RegExp][] = [
      [() => jobs.complete('job-1', { result: 1 }), /jobId: expected job-…/],
      [() => jobs.complete(jobId, {} as { result: unknown }), /result: expected JSON/],
      [() => jobs.complete(jobId, { result: deep }), /result: .*100 levels/],
      [() => jobs.complete(jobId, { result: { at: 1n } }), /result\.at: JSON has no bigint/],
      [
        () => jobs.complete(jobId, { result: 'x'.repeat(10 * 1024 * 1024) }),
        /result: 10485762 bytes of JSON, at most/,
      ],
      [() => jobs.fail(jobId, { error: '' }), /error: expected text/],
      [() => jobs.fail(jobId, { error: 'x'.repeat(2_001) }), /error: 2001 characters, at most 2000/],
      [() => jobs.progress(jobId, { value: 1.5 }), /value: expected a number from 0 to 1/],
      [() => jobs.progress(jobId, { value: Number.NaN }), /value: expected a number from 0 to 1/],
      [() => jobs.progress(jobId, { message: 'x'.repeat(501) }), /message: 501 characters, at most 500/],
      [() => jobs.cancel(jobId, { reason: 'x'.repeat(501) }), /reason: 501 characters, at most 500/],
      [() => jobs.get(jobId, { token: 7 as unknown as string }), /token: expected context\.job\.token/],
    ];
    for (const [refused, message] of wrong) {
      const error = await refused().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidJob);
      expect(String(error)).toMatch(message);
    }
    for (const list of [
      { status: ['done'] },
      { limit: 0 },
      { after: { since: Number.NaN, jobId } },
      { after: { since: 1.5, jobId } },
      { after: { since: 1e30, jobId } },
      { app: '' },
    ]) {
      await expect(jobs.list(list as Parameters<Jobs['list']>[0])).rejects.toThrow(InvalidTurn);
    }
    expect(await jobs.get(jobId)).toMatchObject({ status: 'running' });
    await jobs.complete(jobId, { result: null });
    expect((await desk.env.turnOf(turn)).calls[0]?.response).toEqual({ result: null });
  });

  test('a token is good for its own job, as long as it is not changed and has not expired [job.token]', async () => {
    const mine = await desk.begin('park');
    const others = await desk.begin('park');
    const [order, other] = [await desk.order(mine.thing), await desk.order(others.thing)];
    const jobs = jobsOf();
    const [head = '', claims = '', signature = ''] = order.token.split('.');
    const named = JSON.parse(Buffer.from(claims, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...named, sub: other.jobId })).toString('base64url');
    const foreign = signJobToken(parseCredentialKeys(`k1:${Buffer.alloc(32, 7).toString('base64')}`), {
      ...{ jobId: order.jobId, session: 's', runKey: 'r', callKey: 'c', callId: 'i', tool: 't', agent: 'a' },
      until: Date.now(),
    });
    const tokens = [
      other.token,
      `${head}.${forged}.${signature}`,
      `${head}.${claims}.${signature.slice(0, -4)}AAAA`,
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`,
      foreign,
      'x',
    ];
    for (const token of tokens) {
      for (const refused of [
        () => jobs.complete(order.jobId, { result: 1, token }),
        () => jobs.fail(order.jobId, { error: 'x', token }),
        () => jobs.progress(order.jobId, { value: 1, token }),
        () => jobs.get(order.jobId, { token }),
      ]) {
        const error = await refused().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toMatchObject({
          code: expect.stringMatching(/^HOLDFAST_(JOB_TOKEN_REFUSED|GATEWAY_UNAUTHENTICATED)$/),
        });
        expect(String(error)).not.toContain(token.split('.')[2] || 'no signature');
      }
    }
    await expect(jobs.get(order.jobId, { token: other.token })).rejects.toThrow(JobTokenRefused);
    expect((await desk.env.client.jobs.get(order.jobId))?.status).toBe('running');
    for (const { jobId } of [order, other]) await desk.env.client.jobs.complete(jobId, { result: 1 });
    await Promise.all([mine.turn.result(), others.turn.result()]);
  });
});

test('a service that is done before its tool returns is heard [job.callback]', async () => {
  const { turn, thing } = await desk.begin('early');
  expect((await desk.env.turnOf(turn)).calls[0]?.response).toEqual({ early: thing });
});

if (isDeep) {
  test('with no worker up an outcome is kept, and told to the next one [job.callback]', async () => {
    const { env } = desk;
    const { turn, thing } = await desk.begin('park');
    const { jobId } = await desk.order(thing);
    await env.jobs(turn);
    await env.stopWorker();
    expect(await env.client.jobs.complete(jobId, { result: { thing } })).toMatchObject({ status: 'ended' });
    await env.restartWorker();
    expect((await env.turnOf(turn)).calls[0]?.response).toEqual({ thing });
  });
}

test('with Temporal down an outcome is kept and answered, and told by whoever says it again [job.callback]', async () => {
  const { env } = desk;
  const { turn, thing } = await desk.begin('park');
  const { jobId } = await desk.order(thing);
  await env.jobs(turn);
  const connection = Connection.lazy({ address: '127.0.0.1:9' });
  const cutOff = new HoldfastClient({ temporal: { connection }, store: env.store });
  expect(await cutOff.jobs.complete(jobId, { result: { thing } })).toMatchObject({ status: 'ended' });
  expect(await env.client.jobs.complete(jobId, { result: { thing } })).toMatchObject({ status: 'duplicate' });
  expect((await env.turnOf(turn)).calls[0]?.response).toEqual({ thing });
  await connection.close();
});

describe('messages', () => {
  test('a response to a call that waits goes to its turn, and begins none [job.message]', async () => {
    const { env } = desk;
    const { names, turn, thing } = await desk.begin('park');
    const { jobId } = await desk.order(thing);
    await env.jobs(turn);
    const update = await responseTo(env.client, jobId, { state: 'at work' }, true);
    const told = await env.client.sendMessage({ ...names, message: update });
    expect(told).toMatchObject({ disposition: 'attached', invocationId: turn.invocationId });
    expect(await told.receipt()).toMatchObject({ jobs: [{ jobId, status: 'updated', job: 'running' }] });
    expect(await env.client.jobs.get(jobId)).toMatchObject({ intermediate: { state: 'at work' } });
    const message = await responseTo(env.client, jobId, { thing });
    const answered = await env.client.sendMessage({ ...names, message, policy: 'interrupt' });
    expect(answered).toMatchObject({ disposition: 'attached', messageId: turn.messageId });
    expect(await answered.receipt()).toMatchObject({ confirmed: true, jobs: [{ jobId, status: 'ended' }] });
    expect((await answered.result()).status).toBe('completed');
    const { calls, events } = await env.turnOf(turn);
    expect(calls[0]?.response).toEqual({ thing });
    const session = await env.store.sessions.readEvents(names);
    expect(session).toHaveLength(events.length);
  });

  test('one that is too large to travel does, too [job.message]', async () => {
    const { env } = desk;
    const { names, turn, thing } = await desk.begin('park');
    const { jobId } = await desk.order(thing);
    await env.jobs(turn);
    const large = { pages: 'x'.repeat(100_000) };
    const message = await responseTo(env.client, jobId, large);
    const mixed = { ...message, parts: [...(message.parts ?? []), { text: 'and now?' }] };
    await expect(env.client.sendMessage({ ...names, message: mixed })).rejects.toThrow(
      /a message of its own/,
    );
    const answered = await env.client.sendMessage({ ...names, message });
    expect(answered).toMatchObject({ disposition: 'attached', invocationId: turn.invocationId });
    expect(await answered.receipt()).toMatchObject({ jobs: [{ jobId, status: 'ended', job: 'completed' }] });
    expect((await env.turnOf(turn)).calls[0]?.response).toEqual(large);
    expect(await env.store.messages.readInbox(names)).toEqual([]);
  });

  if (isDeep) {
    test('by a gateway, and with no worker up, it is for the turn that waits [job.message]', async () => {
      const { env } = desk;
      const { names, turn, thing } = await desk.begin('park');
      const { jobId } = await desk.order(thing);
      await env.jobs(turn);
      await env.stopWorker();
      const message = await responseTo(env.client, jobId, { thing });
      const answered = await new GatewayClient(env.gateway).sendMessage({ ...names, message });
      expect(answered).toMatchObject({ disposition: 'attached', invocationId: turn.invocationId });
      expect(await answered.receipt()).toMatchObject({ status: 'accepted', confirmed: false });
      await env.restartWorker();
      expect((await answered.result()).status).toBe('completed');
      expect((await env.turnOf(turn)).calls[0]?.response).toEqual({ thing });
    });
  }

  test('of a job whose turn has gone on it begins a turn, and ends the job [job.message]', async () => {
    const { env } = desk;
    const { names, turn, thing } = await desk.begin('tell');
    const { jobId } = await desk.order(thing);
    await turn.result();
    const message = await responseTo(env.client, jobId, { thing });
    const late = await env.client.sendMessage({ ...names, message });
    expect(late.invocationId).not.toBe(turn.invocationId);
    expect((await late.result()).status).toBe('completed');
    expect(await env.client.jobs.get(jobId)).toMatchObject({ status: 'completed', endedBy: 'message' });
    expect((await desk.said(names)).at(-1)).toBe(`told ${JSON.stringify({ thing })}`);
    expect(await env.client.jobs.complete(jobId, { result: 'other' })).toMatchObject({ status: 'known' });
  });
});

describe('a job that goes on without its turn', () => {
  test('is told to its session where its own workflow was terminated [job.callback]', async () => {
    const { env } = desk;
    const { names, turn, thing } = await desk.begin('tell');
    const { jobId } = await desk.order(thing);
    await turn.result();
    const job = await env.client.jobs.get(jobId);
    const workflowId = jobWorkflowIdOf(turn.workflowId, job?.callKey ?? '');
    await expect
      .poll(
        async () =>
          (
            await env.temporal.workflow
              .getHandle(workflowId)
              .describe()
              .catch(() => undefined)
          )?.status.name,
      )
      .toBe('RUNNING');
    await env.temporal.workflow.getHandle(workflowId).terminate('by a test');
    expect(await env.client.jobs.complete(jobId, { result: { thing } })).toMatchObject({ status: 'ended' });
    await expect.poll(() => desk.said(names)).toContain(`told ${JSON.stringify({ thing })}`);
  });

  test('ends with its session, and is not found any more [job.callback]', async () => {
    const { env } = desk;
    const { names, turn, thing } = await desk.begin('tell');
    const { jobId, token } = await desk.order(thing);
    await turn.result();
    const job = await env.client.jobs.get(jobId);
    const handle = env.temporal.workflow.getHandle(jobWorkflowIdOf(turn.workflowId, job?.callKey ?? ''));
    const isOpen = async () => (await handle.describe().catch(() => undefined))?.status.name === 'RUNNING';
    await expect.poll(isOpen).toBe(true);
    expect(await env.client.sessions.deleteExpired('test', Date.now() + 60_000)).toMatchObject({
      skipped: expect.arrayContaining([names]),
    });
    await env.client.sessions.delete(names);
    expect(await isOpen()).toBe(false);
    expect(await env.client.jobs.get(jobId, { token })).toBeUndefined();
    await expect(env.client.jobs.complete(jobId, { result: 1, token })).rejects.toThrow(JobNotFound);
    await expect(env.client.jobs.progress(jobId, { value: 1, token })).rejects.toThrow(JobNotFound);
  });
});

test.each(someOf([0, 6, 1.5, '1' as unknown as number]))(
  'a priority of %s is refused [limit.fairness]',
  async (priority) => {
    const message = { app: 'test', userId: 'ada', sessionId: 's', message: 'hello', priority };
    await expect(desk.env.client.sendMessage(message)).rejects.toThrow(
      /priority: expected a whole number from 1/,
    );
  },
);
