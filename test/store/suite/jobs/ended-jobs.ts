import { expect, test } from 'vitest';
import type { StoreNotice } from '../../../../src/store/live/live-feed.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Turn, USAGE } from '../turns/turn.ts';
import { AnsweringTurn, answer, JobTurn, ORDERED, REPORT } from './job-turn.ts';

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

const CUT_OFF = 'this call was cut off by the end of its turn; it may have run';
const INTERRUPTED_CALL = { outcome: { response: { error: CUT_OFF }, failed: true } };

const BY_TURN = { status: 'cancelled', endedBy: 'turn', endedAt: expect.any(Number) };

export function endedJobSuite(store: () => PostgresStore): void {
  /** Three calls: one whose job has begun, one that waits, one that is settled while its job goes on. */
  async function waiting(): Promise<JobTurn> {
    const turn = new JobTurn(store());
    await turn.calling(3);
    await turn.openJob(0);
    await turn.parked(1);
    await turn.openJob(2);
    await turn.detach(2);
    await turn.settleGoingOn(2);
    return turn;
  }

  async function watched(turn: Turn): Promise<{ news: unknown[]; stop: () => void }> {
    const news: unknown[] = [];
    const listener = (notice: StoreNotice) => {
      if (notice.type === 'job') news.push([notice.callKey, notice.status, notice.mode]);
    };
    return { news, stop: store().live.watch(turn.session, listener) };
  }

  test('the next turn ends the jobs of one that died; those that are detached go on [job.cancel]', async () => {
    const turn = await waiting();
    const { news, stop } = await watched(turn);
    await new Turn(store(), { names: turn.names }).opened(1);
    stop();
    expect(await turn.job(0)).toMatchObject({ ...BY_TURN, ...INTERRUPTED_CALL, mode: 'started' });
    expect(await turn.job(1)).toMatchObject({ ...BY_TURN, ...INTERRUPTED_CALL, mode: 'parked' });
    expect(await turn.job(2)).toMatchObject({ status: 'running' });
    expect(await turn.endJob(1)).toMatchObject({ first: false, job: BY_TURN });
    expect(news.sort()).toEqual([
      [turn.callKey(1, 0), 'cancelled', 'started'],
      [turn.callKey(1, 1), 'cancelled', 'parked'],
    ]);
  });

  test('a turn waits for jobs that are parked, and for no others [metrics.prometheus]', async () => {
    const turn = await waiting();
    const ofApp = async () => (await store().turns.waiting()).filter(({ app }) => app === turn.names.app);
    expect(await ofApp()).toEqual([
      { app: turn.names.app, kind: 'job', turns: 1, longestMs: expect.any(Number) },
    ]);
    await turn.endJob(1);
    expect(await ofApp()).toEqual([]);
  });

  test('the end of a turn ends the jobs of its open calls, with what these are answered [job.cancel]', async () => {
    const turn = await waiting();
    const { news, stop } = await watched(turn);
    await turn.end(1, [{ index: 0, error: 'no time left' }], INTERRUPTED, 'cancelled by ada');
    stop();
    expect(await turn.job(0)).toMatchObject({
      ...BY_TURN,
      outcome: { response: { error: 'no time left' }, failed: true },
    });
    expect(await turn.job(1)).toMatchObject({
      ...BY_TURN,
      outcome: { response: { error: 'cancelled by ada' }, failed: true },
    });
    expect(await turn.job(2)).toMatchObject({ status: 'running' });
    expect(news).toHaveLength(2);
  });

  test('a call that is closed alone ends its own job only [job.cancel]', async () => {
    const turn = await waiting();
    await turn.end(1, [{ index: 1, error: 'lost' }]);
    expect(await turn.job(0)).toMatchObject({ status: 'running' });
    expect(await turn.job(1)).toMatchObject({
      ...BY_TURN,
      outcome: { response: { error: 'lost' }, failed: true },
    });
  });

  test('a job that has ended stays as it is when its call is cut off, and is what the call has come to [job.callback]', async () => {
    for (const unsettled of [[], [{ index: 1, error: 'no time left' }]]) {
      const turn = await waiting();
      const { job } = await turn.endJob(1);
      await turn.end(1, unsettled, INTERRUPTED);
      expect(await turn.job(1)).toEqual(job);
      expect((await turn.responses())[1]?.response).toEqual(job.outcome?.response);
    }
  });

  test('a job that ends while its call is cut off: both have one outcome, whoever is first [job.callback]', async () => {
    for (let nth = 0; nth < 20; nth += 1) {
      const turn = await waiting();
      const unsettled = nth % 2 === 0 ? [] : [{ index: 1, error: 'no time left' }];
      await Promise.all([turn.endJob(1), turn.end(1, unsettled, INTERRUPTED)]);
      const job = await turn.job(1);
      expect((await turn.responses())[1]?.response).toEqual(job?.outcome?.response);
    }
  });

  test('a job whose call was cut off before the model was told of it ends, too [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.openJob(0);
    await turn.detach(0);
    await turn.end(1, [], INTERRUPTED);
    expect(await turn.job(0)).toMatchObject({ ...BY_TURN, ...INTERRUPTED_CALL, mode: 'detached' });
  });

  test('what a job has come to whose call was cut off before the model was told of it is told by the call [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.openJob(0);
    await turn.detach(0);
    const { job } = await turn.endJob(0);
    expect(await store().jobs.delivery(job)).toBe('open');
    await turn.end(1, [], INTERRUPTED);
    expect((await turn.responses())[0]).toMatchObject({ response: REPORT.response });
    expect(await store().jobs.delivery(job)).toBe('told');
    expect(await turn.job(0)).toEqual(job);
  });

  test('a job that begins while its call is cut off has ended, whoever is first [job.cancel]', async () => {
    for (let nth = 0; nth < 20; nth += 1) {
      const turn = new JobTurn(store());
      await turn.calling();
      await Promise.allSettled([
        ...(nth % 2 === 0
          ? [turn.openJob(0)]
          : [store().jobs.progress({ jobId: turn.jobId(0), claims: turn.claims(0) })]),
        turn.end(1, [], INTERRUPTED),
      ]);
      expect(await turn.job(0)).toMatchObject({ status: 'cancelled', endedBy: 'turn' });
    }
  });

  test('a rewind hides a job: it goes on, and nobody is told of it [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.detached();
    const { session } = turn;
    const jobId = turn.jobId(0);
    const later = new Turn(store(), { names: turn.names });
    await later.opened(1);
    await later.commit(1, 0);
    await store().sessions.rewind({ ...turn.names, beforeInvocationId: later.invocationId });
    expect(await store().jobs.delivery({ session, jobId })).toBe('due');
    await store().sessions.rewind({ ...turn.names, beforeInvocationId: turn.invocationId });
    expect(await store().jobs.delivery({ session, jobId })).toBe('hidden');
    const { first, job } = await turn.endJob(0);
    expect([first, job.outcome]).toEqual([true, REPORT]);
    expect(await store().jobs.delivery({ session, jobId })).toBe('hidden');
    const next = new AnsweringTurn(store(), { names: turn.names });
    const parts = [answer(0, { another: 1 })];
    await next.opens(parts);
    expect(await next.heard()).toEqual(parts);
    expect(await turn.job(0)).toEqual(job);
  });

  test('a retry ends the jobs of calls that it makes anew, and keeps those of its siblings [session.retry]', async () => {
    const turn = new JobTurn(store());
    await turn.detached(2);
    const { session } = turn;
    const retry = { ...turn.names, callKey: turn.callKey(1, 0) };
    const prepared = await store().sessions.prepareRetry(retry);
    const { address } = turn.newJob(0);
    expect(prepared.jobs).toEqual([{ jobId: turn.jobId(0), ended: true, address }]);
    expect(await store().sessions.prepareRetry(retry)).toEqual(prepared);
    expect(await turn.job(0)).toMatchObject({ ...BY_TURN, outcome: { failed: true } });
    expect(await store().jobs.delivery({ session, jobId: turn.jobId(0) })).toBe('hidden');
    expect(await turn.job(1)).toMatchObject({ status: 'running' });
    expect(await store().jobs.delivery({ session, jobId: turn.jobId(1) })).toBe('due');

    const retried = new JobTurn(store(), { names: turn.names, messageId: turn.messageId });
    Object.assign(retried, { session, invocationId: prepared.invocationId });
    await retried.open(1);
    await retried.begin(1, 0);
    const job = await retried.openJob(0);
    expect([job.jobId === turn.jobId(0), job.status]).toEqual([false, 'running']);
    await retried.settle(1, 0, { ok: true });
    const { events } = await retried.opened(2);
    expect(events.at(-1)?.event.content?.parts).toEqual([answer(0, { ok: true }), answer(1, ORDERED, true)]);
  });

  test('a retry of an earlier call hides the jobs behind it, and leaves them alone [session.retry]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    await turn.commit(2, 1, { retryable: true });
    await turn.begin(2, 0);
    const later = { jobId: turn.jobId(0, 2), callKey: turn.callKey(2, 0) };
    await turn.openJob(0, later);
    await store().jobs.detach({ session: turn.session, jobId: later.jobId, intermediate: ORDERED });
    await turn.store.turns.settleCall({
      session: turn.session,
      callKey: later.callKey,
      response: ORDERED,
      failed: false,
      actions: {},
      willContinue: true,
    });
    await turn.opened(3);
    await turn.commit(3, 0);
    const prepared = await store().sessions.prepareRetry({ ...turn.names, callKey: turn.callKey(1, 0) });
    expect(prepared).not.toHaveProperty('jobs');
    const { session } = turn;
    expect(await store().jobs.delivery({ session, jobId: later.jobId })).toBe('hidden');
    expect(await store().jobs.find(later.jobId)).toMatchObject({ status: 'running' });
  });

  test('who deletes a session learns which jobs go on in it, and nothing of them is left [session.delete]', async () => {
    const turn = new JobTurn(store());
    await turn.detached(2);
    const parked = new JobTurn(store(), { names: turn.names });
    await parked.calling();
    await parked.parked(0);
    await turn.endJob(1);
    const told = new AnsweringTurn(store(), { names: turn.names });
    await told.opens([answer(1, REPORT.response)]);
    const jobs = [{ jobId: turn.jobId(0), callKey: turn.callKey(1, 0) }];
    expect(await store().sessions.delete(turn.names)).toEqual([{ ...turn.names, jobs }]);
    expect(
      await store().jobs.list({ app: turn.names.app, status: ['running', 'completed', 'cancelled'] }),
    ).toEqual([]);
    expect(await turn.job(0)).toBeUndefined();
    const { session } = turn;
    expect(await store().jobs.delivery({ session, jobId: turn.jobId(0) })).toBe('deleted');
    await expect(turn.endJob(0, { claims: turn.claims(0) })).rejects.toMatchObject({
      code: 'HOLDFAST_UNKNOWN_JOB',
    });
    expect(await store().sessions.delete(turn.names)).toEqual([]);
  });

  test('a fork has none of its parent’s jobs, and goes without them [session.fork]', async () => {
    const turn = new JobTurn(store());
    await turn.detached();
    const fork = { ...turn.names, sessionId: 's2' };
    await store().sessions.fork({ ...turn.names, to: fork.sessionId });
    expect(await store().jobs.list(fork)).toEqual([]);
    expect(await store().sessions.delete(fork)).toEqual([fork]);
    expect(await turn.job(0)).toMatchObject({ status: 'running' });
  });
}
