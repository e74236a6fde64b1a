import { expect, test } from 'vitest';
import type { StoreNotice } from '../../../../src/store/live/live-feed.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { losingAnswers } from '../statements.ts';
import { USAGE } from '../turns/turn.ts';
import { HOUR, JobTurn, ORDERED, REPORT } from './job-turn.ts';

const NOBODY = { session: 'nobody', jobId: 'job-0' };

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function jobSuite(store: () => PostgresStore): void {
  test('a job is kept from its first write on, wherever it is looked for [job.park]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const before = Date.now();
    const opened = await turn.openJob(0);
    const { deadline: _deadline, ...job } = turn.newJob(0);
    expect(opened).toEqual({
      ...job,
      ...turn.names,
      invocationId: turn.invocationId,
      status: 'running',
      mode: 'started',
      since: expect.any(Number),
      until: expect.any(Number),
      polls: { notYet: 0, failed: 0, failedInARow: 0 },
    });
    expect(opened.since).toBeGreaterThanOrEqual(before - 1_000);
    expect(Math.abs(opened.until - opened.since - HOUR)).toBeLessThan(1_000);
    expect(await store().jobs.find(opened.jobId)).toEqual({ ...opened, args: { value: {} } });
    expect(await store().jobs.list(turn.names)).toEqual([opened]);
  });

  test('a job that is begun again keeps its deadline; whoever waits for it last is told of its end [job.callback]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const opened = await turn.openJob(0);
    const { jobId } = opened;
    const { session } = turn;
    const address = { workflowId: 'w', runId: 'r-2', activityId: 'a' };
    expect(await turn.openJob(0, { address, deadline: 1 })).toEqual({ ...opened, address });
    const wait = { ...address, activityId: 'a/wait' };
    expect(await store().jobs.await({ session, jobId, address: wait })).toEqual({ ...opened, address: wait });
    await turn.endJob(0);
    const ended = await turn.job(0);
    expect(ended).toMatchObject({ status: 'completed', address: wait });
    expect(await store().jobs.await({ session, jobId, address })).toEqual(ended);
    expect(await turn.openJob(0)).toEqual(ended);
  });

  test('a tool that has left its job behind has ended its attempt [job.park]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.openJob(0);
    const parked = await turn.park(0, 1, ORDERED);
    expect(parked).toMatchObject({ mode: 'parked', status: 'running', intermediate: ORDERED });
    expect(await turn.park(0, 1, { another: 1 })).toEqual(parked);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 2, unknown: false });
    // An earlier attempt's word counts no more, the newest one's does.
    expect(await turn.park(0, 1)).toBeUndefined();
    expect(await turn.park(0, 2)).toEqual(parked);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 3, unknown: false });
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 4, unknown: true });
  });

  test('a job whose tool is to run again is one that no attempt has left, and that was looked at [mcp.tasks]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const opened = await turn.openJob(0);
    const named = { session: turn.session, jobId: opened.jobId };
    expect(await store().jobs.resume(named)).toEqual(opened);
    await turn.park(0);
    const resumed = await store().jobs.resume(named);
    expect(resumed).toMatchObject({ mode: 'started', status: 'running', polls: { notYet: 1 } });
    expect(await store().jobs.resume(named)).toEqual(resumed);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 2, unknown: false });
    expect(await turn.park(0, 2)).toMatchObject({ mode: 'parked' });
    const { job } = await turn.endJob(0);
    expect(await store().jobs.resume(named)).toEqual(job);
  });

  test('a call that is settled, or whose turn has ended, parks no more [job.park]', async () => {
    const turn = new JobTurn(store());
    await turn.calling(2);
    await turn.openJob(0);
    await turn.openJob(1);
    await turn.settle(1, 0, { ok: true });
    expect(await turn.park(0)).toBeUndefined();
    await turn.end(1, [], INTERRUPTED);
    expect(await turn.park(1)).toBeUndefined();
  });

  test('a job that is detached goes on without its turn; what the model is told is the first thing said [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.openJob(0);
    const detached = await turn.detach(0);
    expect(detached).toMatchObject({ mode: 'detached', status: 'running', intermediate: ORDERED });
    expect(await turn.detach(0, { another: 1 })).toEqual(detached);
    const { job } = await turn.endJob(0);
    expect(job).toMatchObject({ mode: 'detached', intermediate: ORDERED, outcome: REPORT });
    expect(await turn.detach(0)).toEqual(job);
  });

  test('which operator has ended a job stays with it [job.callback]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.parked(0);
    const ended = await turn.endJob(0, { by: 'operator', person: 'mira' });
    expect(ended).toMatchObject({ first: true, job: { endedBy: 'operator', endedByPerson: 'mira' } });
    expect(await turn.endJob(0, { by: 'operator', person: 'jo' })).toMatchObject({ repeated: true });
    expect(await turn.job(0)).toMatchObject({ endedByPerson: 'mira' });
    await expect(
      store().jobs.end({
        jobId: 'job-none',
        status: 'completed',
        outcome: REPORT,
        by: 'operator',
        person: 'mira',
      }),
    ).rejects.toMatchObject({ code: 'HOLDFAST_UNKNOWN_JOB' });
    const listed = await store().jobs.list({ ...turn.names, status: ['completed'] });
    expect(listed).toMatchObject([{ endedByPerson: 'mira' }]);
  });

  test('keys may come in any order in an outcome that is said again [job.callback]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.parked(0);
    await turn.endJob(0, { outcome: { response: { a: 1, b: { c: [2], d: null } }, failed: false } });
    const again = await turn.endJob(0, {
      outcome: { response: { b: { d: null, c: [2] }, a: 1 }, failed: false },
    });
    expect(again).toMatchObject({ first: true, repeated: true });
  });

  test('a caller who comes before the call has written its job ends it all the same [job.callback]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const claims = turn.claims(0);
    const { first, job } = await turn.endJob(0, { claims });
    expect(first).toBe(true);
    expect(job).toMatchObject({ ...turn.names, status: 'completed', mode: 'started', until: claims.until });
    expect(job).not.toHaveProperty('address');
    expect(await turn.openJob(0)).toEqual(job);
    expect(await turn.park(0)).toEqual(job);
  });

  test('progress of a job that is not written yet writes it, and its call goes on with it [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const { job } = await store().jobs.progress({ jobId: turn.jobId(0), value: 0.1, claims: turn.claims(0) });
    expect(job).toMatchObject({ status: 'running', progress: { value: 0.1 } });
    const { address } = turn.newJob(0);
    expect(await turn.openJob(0)).toEqual({ ...job, address });
  });

  test('what comes for a call that was settled without a job is told what the call came to', async () => {
    const turn = new JobTurn(store());
    await turn.calling(3);
    await turn.settle(1, 0, { ok: true });
    await turn.settle(1, 1, { error: 'out of paper' });
    await turn.end(1, [], INTERRUPTED);
    const answers = [];
    for (const index of [0, 1, 2]) answers.push(await turn.endJob(index, { claims: turn.claims(index) }));
    expect(answers).toMatchObject([
      { first: false, job: { status: 'completed', outcome: { response: { ok: true } }, endedBy: 'tool' } },
      {
        first: false,
        job: { status: 'failed', outcome: { response: { error: 'out of paper' } }, endedBy: 'tool' },
      },
      { first: false, job: { status: 'cancelled', outcome: { failed: true }, endedBy: 'turn' } },
    ]);
    expect(await turn.openJob(2)).toMatchObject({ status: 'cancelled' });
  });

  test('a job that nobody has begun is unknown [job.token]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const { jobId } = NOBODY;
    const unknown = { code: 'HOLDFAST_UNKNOWN_JOB', retryable: false };
    await expect(turn.endJob(0)).rejects.toMatchObject(unknown);
    await expect(turn.endJob(0, { jobId: 'job-\0' })).rejects.toMatchObject(unknown);
    await expect(store().jobs.progress({ jobId, value: 1 })).rejects.toMatchObject(unknown);
    const claims = { ...turn.claims(0), session: 'nobody' };
    await expect(turn.endJob(0, { claims })).rejects.toMatchObject(unknown);
    const behind = { code: 'HOLDFAST_STORE_BEHIND_HISTORY' };
    await expect(store().jobs.recordPoll(NOBODY)).rejects.toMatchObject(behind);
    await expect(store().jobs.park({ ...NOBODY, attempt: 1 })).rejects.toMatchObject(behind);
    await expect(store().jobs.detach({ ...NOBODY, intermediate: {} })).rejects.toMatchObject(behind);
    await expect(turn.openJob(0, { session: 'nobody' })).rejects.toMatchObject(behind);
    const address = { workflowId: 'w', runId: 'r', activityId: 'a' };
    expect(await store().jobs.await({ ...NOBODY, address })).toBeUndefined();
    expect(await store().jobs.find('job-\0')).toBeUndefined();
    expect(await store().jobs.delivery(NOBODY)).toBe('deleted');
  });

  test('progress is kept, and told to who waits when it has not heard for a while [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.parked(0);
    const jobId = turn.jobId(0);
    const first = await store().jobs.progress({ jobId, value: 0.25, message: 'a quarter' });
    expect(first.tells).toBe(true);
    expect(first.job.progress).toEqual({ value: 0.25, message: 'a quarter', at: first.job.heardAt });
    const second = await store().jobs.progress({ jobId, message: 'more' });
    expect(second.tells).toBe(false);
    expect(second.job.progress).toEqual({ message: 'more', at: second.job.heardAt });
    const update = await store().jobs.progress({ jobId, intermediate: { pages: 3 } });
    expect(update.job).toMatchObject({ progress: second.job.progress, intermediate: { pages: 3 } });
    const { job } = await turn.endJob(0);
    expect(await store().jobs.progress({ jobId, value: 1, intermediate: { pages: 4 } })).toEqual({
      job,
      tells: false,
    });
  });

  test('how long a workflow isn’t told grows with the age of the job [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.parked(0);
    const jobId = turn.jobId(0);
    const notifiedBefore = async (age: number, told: number) => {
      const now = Date.now();
      await store()
        .db.updateTable('holdfast.jobs')
        .set({ since: now - age, told_at: now - told })
        .where('job_id', '=', jobId)
        .execute();
      return (await store().jobs.progress({ jobId, value: 0.5 })).tells;
    };
    expect(await notifiedBefore(10_000, 4_000)).toBe(false);
    expect(await notifiedBefore(10_000, 6_000)).toBe(true);
    expect(await notifiedBefore(HOUR, 5 * 60_000)).toBe(false);
    expect(await notifiedBefore(HOUR, 7 * 60_000)).toBe(true);
  });

  test('polls that say not yet and polls that fail are counted apart [job.poll]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.parked(0);
    const poll = { session: turn.session, jobId: turn.jobId(0) };
    await store().jobs.recordPoll(poll);
    await store().jobs.recordPoll({ ...poll, error: 'down' });
    const { polls } = await store().jobs.recordPoll({ ...poll, error: 'still down' });
    const lastAt = expect.any(Number);
    expect(polls).toEqual({ notYet: 1, failed: 2, failedInARow: 2, lastError: 'still down', lastAt });
    expect((await store().jobs.recordPoll(poll)).polls).toEqual({
      notYet: 2,
      failed: 2,
      failedInARow: 0,
      lastError: 'still down',
      lastAt,
    });
  });

  test('what the store did and could not say counts once [store.reconnect]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const jobId = turn.jobId(0);
    const { session } = turn;
    await losingAnswers(() => turn.openJob(0));
    expect(await losingAnswers(() => turn.park(0))).toMatchObject({ mode: 'parked' });
    expect(await losingAnswers(() => store().jobs.recordPoll({ session, jobId, error: 'no' }))).toMatchObject(
      {
        polls: { failed: 1, failedInARow: 1 },
      },
    );
    await losingAnswers(() => store().jobs.progress({ jobId, value: 0.5 }));
    expect(await losingAnswers(() => turn.endJob(0))).toMatchObject({ first: true, repeated: false });
    expect(await turn.endJob(0)).toMatchObject({ first: true, repeated: true });
  });

  test('followers hear of each turn that a job takes, once [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const heard: StoreNotice[] = [];
    const stop = store().live.watch(turn.session, (notice) => heard.push(notice));
    for (const _again of [1, 2]) {
      await turn.openJob(0);
      await turn.park(0);
      await turn.endJob(0);
      await store().jobs.progress({ jobId: turn.jobId(0), value: 1 });
    }
    stop();
    const { session, invocationId: runKey } = turn;
    const job = {
      type: 'job',
      session,
      runKey,
      callKey: turn.callKey(1, 0),
      tool: 'pay',
      jobId: turn.jobId(0),
    };
    expect(heard).toEqual([
      { ...job, status: 'running', mode: 'started' },
      { ...job, status: 'running', mode: 'parked' },
      { ...job, status: 'completed', mode: 'parked' },
    ]);
  });

  test('a large outcome comes back whole; what text can’t hold is replaced [job.callback]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.openJob(0);
    const response = { pages: 'x'.repeat(300_000), odd: 'a\0b\ud800c' };
    await turn.endJob(0, { outcome: { response, failed: false } });
    expect((await turn.job(0))?.outcome?.response).toEqual({ ...response, odd: 'a\ufffdb\ufffdc' });
  });
}
