import { ActivityNotFoundError, WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { isDeep } from '../setup/tier.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const HOURLY = { timeLeft: 100 * 3_600_000, looksEvery: 3_600_000 };
const report: ScriptedCall = { tool: 'report', job: {} };

async function parked(...calls: ScriptedCall[]): Promise<GatedTurn> {
  const turn = environment.turn([calls]);
  await turn.start();
  await turn.parked(calls.filter(({ job }) => job !== undefined).length);
  return turn;
}

const row = (turn: GatedTurn, index = 0) => environment.jobs.row(turn.jobId(index));

/** It is somebody's who waits, as a callback needs it. */
const looked = (turn: GatedTurn, index = 0) =>
  expect.poll(() => environment.jobs.rows.get(turn.jobId(index))?.looks).toBeGreaterThan(0);

const tasks = (turn: GatedTurn, tool = 'report') =>
  turn.inputs(tool).flatMap(({ job }) => (job?.do === 'end' ? [job] : []));

/** What the call came to, in the only task that there was. */
function settledOnce(turn: GatedTurn, response: object, index = 0, tool = 'report'): void {
  expect(tasks(turn, tool)).toHaveLength(1);
  expect(row(turn, index).settled).toEqual([response]);
}

describe('a callback ends the wait', () => {
  test('while it is open: the model hears of it, and the tool runs once [job.park]', async () => {
    const turn = await parked(report);
    await looked(turn);
    const status = await turn.status();
    expect(status).toMatchObject({
      status: 'waiting_job',
      step: 1,
      running: [],
      jobs: [{ jobId: turn.jobId(), callKey: turn.callKey(), callId: 'id-1-0', tool: 'report' }],
    });
    const [job] = status.jobs;
    expect((job?.until ?? 0) - (job?.since ?? 0)).toBe(600_000);
    expect(await environment.jobs.finish(turn.jobId(), 'completed', { url: 'u' })).toBe(true);
    expect((await turn.result()).status).toBe('completed');
    expect(tasks(turn)).toEqual([{ do: 'end', jobId: turn.jobId(), why: 'ended' }]);
    settledOnce(turn, { url: 'u' });
    expect(turn.types).not.toContain('holdfast.settleStep');
    expect(turn.inputs('report').filter((input) => input.job === undefined)).toHaveLength(1);
  });

  test('before anybody waits: while the tool still runs [job.callback]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await environment.jobs.finish(turn.jobId(), 'completed', { early: true });
    release();
    await turn.result();
    expect(tasks(turn)).toEqual([]);
    expect(row(turn).settled).toEqual([{ early: true }]);
  });

  test('between the tool and the wait [job.callback]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report/wait');
    await turn.start();
    await turn.parked();
    await environment.jobs.finish(turn.jobId(), 'completed', { between: true });
    release();
    await turn.result();
    settledOnce(turn, { between: true });
  });

  test('while no worker is up [job.callback]', async () => {
    const turn = await parked(report);
    await looked(turn);
    await environment.stopWorker();
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await environment.startWorker();
    await turn.result();
    settledOnce(turn, { n: 1 });
  });

  test('between two looks, while it is in back-off [job.poll]', async () => {
    const turn = await parked({ tool: 'report', job: HOURLY });
    await looked(turn);
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    // The next look is an hour away.
    await turn.result();
    settledOnce(turn, { n: 1 });
  });

  test('of a run that is over, of another one nothing [job.callback]', async () => {
    const turn = await parked(report);
    await looked(turn);
    const { address } = row(turn);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await turn.result();
    const other = await parked(report);
    await looked(other);
    if (address === undefined) throw new Error('nobody waited');
    const late = environment.temporal.activity.complete(address, { v: 1, ended: '' });
    await expect(late).rejects.toBeInstanceOf(ActivityNotFoundError);
    expect((await other.status()).status).toBe('waiting_job');
    await environment.jobs.finish(other.jobId(), 'completed', {});
    await other.result();
  });
});

if (isDeep) {
  describe('a poll', () => {
    test('that finds nothing adds nothing to the history, however often [job.poll]', async () => {
      const once = await parked({ tool: 'report', job: HOURLY });
      const often = await parked({ tool: 'report', job: { ...HOURLY, looksEvery: 1 } });
      await looked(once);
      await expect.poll(() => row(often).looks).toBeGreaterThan(12);
      expect((await often.history()).length).toBe((await once.history()).length);
      for (const turn of [once, often]) {
        await environment.jobs.finish(turn.jobId(), 'completed', {});
        await turn.result();
      }
      expect((await often.history()).length).toBe((await once.history()).length);
    });
  });
}

describe('a job that is out of time', () => {
  test('ends by it, and what comes later changes nothing [job.timeouts]', async () => {
    const turn = await parked({ tool: 'report', job: { timeLeft: 700 } });
    await turn.result();
    expect(tasks(turn)).toEqual([{ do: 'end', jobId: turn.jobId(), why: 'timeout' }]);
    expect(await environment.jobs.finish(turn.jobId(), 'completed', { late: true })).toBe(false);
    settledOnce(turn, { error: 'timeout' });
  });

  if (isDeep) {
    test('is waited for until then where no further look fits before it [job.timeouts]', async () => {
      const turn = await parked({ tool: 'report', job: { timeLeft: 3_000, looksEvery: 3_600_000 } });
      const [job] = await turn.parked();
      await turn.result();
      expect(tasks(turn)).toEqual([{ do: 'end', jobId: turn.jobId(), why: 'timeout' }]);
      const ended = (await turn.history()).find(({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityId?.endsWith('/end'),
      );
      expect(Number(ended?.eventTime?.seconds) * 1_000 + 1_000).toBeGreaterThanOrEqual(job?.until ?? 0);
      settledOnce(turn, { error: 'timeout' });
    });
  }

  test('at once, where a test says so; once only [job.timeouts]', async () => {
    const turn = await parked(report);
    const release = turn.hold('report/end');
    await turn.update('holdfast.expireJob', { jobId: turn.jobId() });
    await expect.poll(() => tasks(turn)).toMatchObject([{ why: 'timeout' }]);
    expect(await turn.refusal('holdfast.expireJob', {})).toMatchObject({ type: 'NotPending' });
    release();
    await turn.result();
    settledOnce(turn, { error: 'timeout' });
  });

  test('is named where several wait [job.timeouts]', async () => {
    const turn = await parked(report, { tool: 'scan', job: {} });
    const refusal = await turn.refusal('holdfast.expireJob', {});
    expect(refusal.type).toBe('AmbiguousJob');
    expect(refusal.message).toContain(turn.jobId(0));
    expect(refusal.message).toContain(turn.jobId(1));
    await turn.update('holdfast.expireJob', { callKey: turn.callKey(1) });
    await turn.parked(1);
    await turn.update('holdfast.expireJob', { callId: 'id-1-0' });
    await turn.result();
    settledOnce(turn, { error: 'timeout' }, 1, 'scan');
  });

  test('and has ended just before: that counts [job.timeouts]', async () => {
    const turn = environment.turn([[{ tool: 'report', job: { timeLeft: 100_000 } }]]);
    const release = turn.hold('report/wait');
    await turn.start();
    await turn.parked();
    await environment.jobs.finish(turn.jobId(), 'completed', { done: true });
    await turn.update('holdfast.expireJob', {});
    release();
    await turn.result();
    settledOnce(turn, { done: true });
  });
});

describe('a job that is cancelled', () => {
  test('with its call: the model is told as of a call that runs, siblings wait on [job.cancel]', async () => {
    const turn = await parked(report, { tool: 'scan', job: {} });
    await looked(turn);
    await turn.update('cancelCall', { callKey: turn.callKey(), reason: 'no need' });
    // Its call has ten minutes left.
    await expect.poll(() => tasks(turn).length).toBe(1);
    expect(tasks(turn)).toEqual([
      { do: 'end', jobId: turn.jobId(), why: 'cancelled', text: 'cancelled: no need' },
    ]);
    await turn.parked(1);
    await environment.jobs.finish(turn.jobId(1), 'completed', { scanned: true });
    await turn.result();
    settledOnce(turn, { error: 'cancelled: no need' });
    settledOnce(turn, { scanned: true }, 1, 'scan');
    expect(turn.types).not.toContain('holdfast.settleStep');
    expect(await environment.jobs.finish(turn.jobId(), 'completed', { late: true })).toBe(false);
  });

  test('with its call while its tool still runs, which then returns [job.cancel]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await turn.update('cancelCall', { callKey: turn.callKey() });
    release();
    await turn.result();
    settledOnce(turn, { error: 'cancelled by an operator' });
  });

  test('with its turn, which waits until the tool is told [job.cancel]', async () => {
    const turn = await parked(report);
    const release = turn.hold('report/end');
    await turn.update('interrupt', { reason: 'stop it' });
    await expect.poll(() => tasks(turn).length).toBe(1);
    expect(turn.types).not.toContain('holdfast.settleStep');
    release();
    expect((await turn.result()).status).toBe('interrupted');
    expect(tasks(turn)).toMatchObject([{ why: 'cancelled', text: 'cancelled: interrupted: stop it' }]);
    settledOnce(turn, { error: 'cancelled: interrupted: stop it' });
    expect(turn.types.at(-1)).toBe('holdfast.settleStep');
  });

  test('with its workflow [job.cancel]', async () => {
    const turn = await parked(report);
    await turn.handle.cancel();
    const failure = await turn.result().catch((error: unknown) => error);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    expect(failure.cause).toBeInstanceOf(CancelledFailure);
    settledOnce(turn, { error: 'cancelled: the turn was cancelled' });
    expect(turn.inputs('holdfast.settleStep')).toMatchObject([{ ending: { status: 'interrupted' } }]);
  });

  test('where the time of its turn is used up [budget.limits]', async () => {
    const turn = environment.turn([[report]], { timeLeft: 1_500 });
    await turn.start();
    await turn.result().catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error;
    });
    settledOnce(turn, { error: 'cancelled: the time of its turn is used up' });
    expect(turn.inputs('holdfast.settleStep')[0].ending.error.code).toBe('HOLDFAST_BUDGET_EXCEEDED');
  });

  test('after its end: the outcome counts, the turn ends as it was told [job.cancel]', async () => {
    const turn = await parked(report);
    await looked(turn);
    const release = turn.hold('report/end');
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await expect.poll(() => tasks(turn).length).toBe(1);
    await turn.update('cancelCall', { callKey: turn.callKey() });
    await turn.update('interrupt', {});
    release();
    expect((await turn.result()).status).toBe('interrupted');
    settledOnce(turn, { n: 1 });
  });
});

describe('a turn with a job', () => {
  test('lets its siblings run, also those behind one that runs alone [job.park]', async () => {
    const turn = environment.turn(
      [[report, { tool: 'a' }, { tool: 'alone', exclusive: true }, { tool: 'b' }]],
      { maxParallelCalls: 1 },
    );
    await turn.start();
    await expect.poll(() => turn.types).toEqual(expect.arrayContaining(['a', 'alone', 'b']));
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_job');
    await looked(turn);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await turn.result();
  });

  test('waits for two at once, and for one after another [job.sequence]', async () => {
    const turn = environment.turn([[report, report], [report]]);
    await turn.start();
    const both = await turn.parked(2);
    expect(new Set(both.map(({ jobId }) => jobId)).size).toBe(2);
    for (const index of [1, 0]) {
      await looked(turn, index);
      await environment.jobs.finish(turn.jobId(index), 'completed', { index });
    }
    await expect.poll(() => environment.jobs.rows.get(turn.jobId(0, 2))?.looks).toBeGreaterThan(0);
    await environment.jobs.finish(turn.jobId(0, 2), 'completed', { step: 2 });
    await turn.result();
    expect(row(turn, 0).settled).toEqual([{ index: 0 }]);
    expect(row(turn, 1).settled).toEqual([{ index: 1 }]);
    expect(environment.jobs.row(turn.jobId(0, 2)).settled).toEqual([{ step: 2 }]);
  });

  test('asks people first, then waits: what it says it waits for follows [job.park]', async () => {
    const turn = environment.turn([[{ ...report, gate: {} }, report]]);
    await turn.start();
    await turn.parked(1);
    expect((await turn.status()).status).toBe('waiting_approval');
    await turn.update('confirm', { confirmed: true });
    await turn.parked(2);
    expect((await turn.status()).status).toBe('waiting_job');
    for (const index of [0, 1]) {
      await looked(turn, index);
      await environment.jobs.finish(turn.jobId(index), 'completed', {});
    }
    await turn.result();
  });

  test('shows how far it has got, the newest news, as text [job.progress]', async () => {
    const turn = await parked(report);
    const tell = (value: unknown, message: unknown, at: unknown, jobId = turn.jobId()) =>
      turn.signal('holdfast.progress', { v: 1, jobId, progress: { value, message, at } });
    await tell(0.5, 'page 5\n\n# [pay](https://evil.example)', 2);
    await tell(0.25, 'page 2', 1);
    await tell(0.75, 'another job', 3, 'job-unknown');
    await expect.poll(async () => (await turn.status()).jobs[0]?.progress?.value).toBe(0.5);
    const details = await turn.details();
    expect(details).toContain('50 % · page 5 # \\[pay\\](https://evil.example)');
    expect(details).toContain(`npx holdfast jobs show ${turn.jobId()}`);
    expect(details).toMatch(/job of `report` 1\.0 since .* UTC until .* UTC/);
    await tell(7, 'x', 4);
    await expect.poll(() => turn.details()).toContain('progress.value: expected a number from 0 to 1');
    await looked(turn);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await turn.result();
  });

  test('shows the progress of a tool that still runs [job.progress]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await turn.signal('holdfast.progress', { jobId: turn.jobId(), progress: { value: 0.1, at: 1 } });
    await expect.poll(async () => (await turn.status()).running[0]?.progress?.value).toBe(0.1);
    expect(await turn.details()).toContain('10 %');
    release();
    expect((await turn.parked())[0]?.progress?.value).toBe(0.1);
    await looked(turn);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await turn.result();
  });

  if (isDeep) {
    test('needs no memory of a worker: evicted ones go on as before [job.park]', async () => {
      await environment.stopWorker();
      await environment.startWorker({ maxCachedWorkflows: 2 });
      const turns = Array.from({ length: 6 }, () => environment.turn([[report]]));
      for (const turn of turns) await turn.start();
      // Not asked by queries, each of which would bring one back into the cache and drive another one out.
      await Promise.all(turns.map((turn) => looked(turn)));
      await environment.stopWorker();
      await environment.startWorker({ maxCachedWorkflows: 2 });
      for (const turn of turns) await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
      for (const turn of turns) {
        await turn.result();
        settledOnce(turn, { n: 1 });
      }
      await environment.stopWorker();
      await environment.startWorker();
    });
  }
});
