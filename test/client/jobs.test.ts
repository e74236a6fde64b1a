import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StreamItem } from '../../src/client/index.ts';
import { GatewayClient, HoldfastClient, JobNotFound } from '../../src/client/index.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import { type JobDesk, openJobDesk, responseTo } from '../setup/job-desk.ts';
import { isDeep } from '../setup/tier.ts';

let desk: JobDesk;
beforeAll(async () => {
  desk = await openJobDesk();
});
afterAll(() => desk.env.close());

test('whoever follows its session hears how a job gets on, and the status shows it [job.progress]', async () => {
  const { names, turn, thing } = await desk.begin('park');
  const client = new GatewayClient(desk.env.gateway);
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
