import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { ToolJobStatus } from '../../src/protocol/job.ts';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { someOf } from '../setup/tier.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const report: ScriptedCall = { tool: 'report', summary: 'report of May', job: { detached: true } };

const handleOf = (turn: GatedTurn, index = 0) =>
  environment.temporal.workflow.getHandle(jobWorkflowIdOf(turn.workflowId, turn.callKey(index)));

const statusOf = (turn: GatedTurn, index = 0) => handleOf(turn, index).query<ToolJobStatus>('status');

const row = (turn: GatedTurn, index = 0) => environment.jobs.row(turn.jobId(index));

async function detached(call: ScriptedCall = report): Promise<GatedTurn> {
  const turn = environment.turn([[call]]);
  await turn.start();
  expect((await turn.result()).status).toBe('completed');
  await expect.poll(() => row(turn).looks).toBeGreaterThan(0);
  return turn;
}

const ends = (turn: GatedTurn) =>
  turn.inputs('report').flatMap(({ job }) => (job?.do === 'end' ? [job] : []));

describe('a job that outlives its turn', () => {
  test('is waited for by a workflow of its own, which tells the session [job.detach]', async () => {
    const turn = await detached();
    const { description, searchAttributes } = await describeOf(turn);
    expect(description).toBe('report · job');
    expect(searchAttributes.HoldfastStatus).toEqual(['running']);
    expect(await statusOf(turn)).toMatchObject({
      status: 'running',
      jobId: turn.jobId(),
      callKey: turn.callKey(),
      callId: 'id-1-0',
      tool: 'report',
    });
    await environment.jobs.finish(turn.jobId(), 'completed', { url: 'u' });
    const result = await handleOf(turn).result();
    expect(result).toMatchObject({ status: 'completed', delivered: true });
    expect(await statusOf(turn)).toEqual(result);
    expect(ends(turn)).toEqual([{ do: 'end', jobId: turn.jobId(), detached: true, why: 'ended' }]);
    expect(row(turn)).toMatchObject({ settled: [], delivered: [{ url: 'u' }] });
    expect(turn.inputs('holdfast.deliverJob')).toEqual([
      {
        v: 1,
        ...turn.names,
        session: turn.names.sessionId,
        turnWorkflowId: turn.workflowId,
        callKey: turn.callKey(),
        jobId: turn.jobId(),
      },
    ]);
    expect(turn.inputs('report').filter((input) => input.job === undefined)).toHaveLength(1);
  });

  test('is cancelled with its workflow, and the session is told [job.cancel]', async () => {
    const turn = await detached();
    await handleOf(turn).cancel();
    const failure = await handleOf(turn)
      .result()
      .catch((error: unknown) => error);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    expect(failure.cause).toBeInstanceOf(CancelledFailure);
    const text = 'cancelled: its workflow was cancelled';
    expect(ends(turn)).toMatchObject([{ why: 'cancelled', text }]);
    expect(row(turn).delivered).toEqual([{ error: text }]);
  });

  test('is cancelled too late: its outcome counts, and the session is told it [job.cancel]', async () => {
    const turn = await detached();
    const release = turn.hold('report/end');
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await expect.poll(() => ends(turn).length).toBe(1);
    await handleOf(turn).cancel();
    release();
    expect(await handleOf(turn).result()).toMatchObject({ status: 'completed', delivered: true });
    expect(row(turn).delivered).toEqual([{ n: 1 }]);
  });

  test('is out of time, also at once where a test says so [job.timeouts]', async () => {
    const short = await detached({ ...report, job: { detached: true, timeLeft: 1_000 } });
    expect(await handleOf(short).result()).toMatchObject({ status: 'timed_out' });
    const turn = await detached();
    await handleOf(turn).executeUpdate('holdfast.expireJob', { args: [] });
    expect(await handleOf(turn).result()).toMatchObject({ status: 'timed_out' });
    for (const one of [short, turn]) expect(row(one).delivered).toEqual([{ error: 'timeout' }]);
    const late = handleOf(turn).executeUpdate('holdfast.expireJob', { args: [] });
    await expect(late).rejects.toThrow();
  });

  test('shows how far it has got [job.progress]', async () => {
    const turn = await detached();
    const tell = (progress: unknown, jobId = turn.jobId()) =>
      handleOf(turn).signal('holdfast.progress', { v: 1, jobId, progress });
    await tell({ value: 0.5, message: '[page](x) 5', at: 2 });
    await tell({ value: 0.4, at: 1 });
    await tell({ value: 0.9, at: 3 }, 'job-of-another');
    await tell('half');
    await expect.poll(async () => (await statusOf(turn)).progress?.value).toBe(0.5);
    const metadata = await handleOf(turn).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toContain('50 % · \\[page\\](x) 5');
    expect(metadata.currentDetails).toContain(`npx holdfast jobs show ${turn.jobId()}`);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await handleOf(turn).result();
  });

  test('goes on while no worker is up, and is heard by the next one [job.callback]', async () => {
    const turn = await detached();
    await environment.stopWorker();
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await environment.startWorker({ maxCachedWorkflows: 2 });
    await handleOf(turn).result();
    expect(row(turn).delivered).toEqual([{ n: 1 }]);
  });

  test('is begun also where its turn is interrupted meanwhile [job.detach]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await turn.update('interrupt', {});
    release();
    expect((await turn.result()).status).toBe('interrupted');
    await expect.poll(() => row(turn).looks).toBeGreaterThan(0);
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await handleOf(turn).result();
    expect(row(turn).delivered).toEqual([{ n: 1 }]);
  });

  test('whose workflow somebody has started before is that one [job.detach]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await environment.temporal.workflow.start('toolJob', startOf(turn));
    release();
    expect((await turn.result()).status).toBe('completed');
    await expect.poll(() => row(turn).looks).toBeGreaterThan(0);
    await environment.jobs.finish(turn.jobId(), 'completed', {});
    await handleOf(turn).result();
    expect(ends(turn)).toHaveLength(1);
  });

  test('whose workflow was ended is waited for again by another one [job.detach]', async () => {
    const turn = await detached();
    await handleOf(turn).terminate();
    await environment.jobs.finish(turn.jobId(), 'completed', { n: 1 });
    await environment.temporal.workflow.start('toolJob', startOf(turn, { job: { timeLeft: -5 } }));
    await handleOf(turn).result();
    expect(row(turn).delivered).toEqual([{ n: 1 }]);
  });
});

describe('start arguments of a job', () => {
  test.each(
    someOf([
      ['arguments', () => 'go'],
      ['v', () => ({ v: 99 })],
      ['session', () => ({ session: '' })],
      ['tool', () => ({ tool: 'holdfast.callModel' })],
      ['tool', () => ({ tool: 'x'.repeat(1_001) })],
      ['args', () => ({ args: { a: 1 } })],
      ['job', () => ({ job: 'job-1' })],
      ['job.timeLeft', () => ({ job: { timeLeft: 'long' } })],
      ['job.look.startToClose', () => ({ job: { look: {} } })],
      ['schedule', () => ({ schedule: undefined })],
      ['schedule.startToClose', () => ({ schedule: {} })],
      ['priority', () => ({ priority: 9 })],
      ['workflowId', () => ({ callKey: 'another' })],
    ]),
  )('that make no sense are refused, and name the field: %s [job.detach]', async (field, wrong) => {
    const turn = environment.turn([[report]]);
    const given = wrong();
    const options = startOf(turn, typeof given === 'string' ? {} : given);
    const handle = await environment.temporal.workflow.start('toolJob', {
      ...options,
      ...(typeof given === 'string' ? { args: [given] } : {}),
    });
    const failure = await handle.result().catch((error: unknown) => error);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    if (!(failure.cause instanceof ApplicationFailure)) throw failure.cause;
    expect(failure.cause.type).toBe('InvalidStart');
    expect(failure.cause.message).toContain(`toolJob: ${field}: `);
  });
});

async function describeOf(turn: GatedTurn) {
  const handle = handleOf(turn);
  const { searchAttributes } = await handle.describe();
  const description = await (await handle.describe()).staticSummary();
  return { description, searchAttributes };
}

function startOf(turn: GatedTurn, { job = {}, ...fields }: Record<string, unknown> = {}) {
  const given = { jobId: turn.jobId(), timeLeft: 600_000, look: { startToClose: 60_000 } };
  return {
    workflowId: jobWorkflowIdOf(turn.workflowId, turn.callKey()),
    taskQueue: 'holdfast',
    args: [
      {
        v: 1,
        ...turn.names,
        session: turn.names.sessionId,
        turnWorkflowId: turn.workflowId,
        agent: 'fake',
        runKey: turn.runKey,
        invocationId: turn.runKey,
        callKey: turn.callKey(),
        callId: 'id-1-0',
        tool: 'report',
        args: { value: {} },
        job: typeof job === 'object' ? { ...given, ...job } : job,
        schedule: { startToClose: 60_000, scheduleToClose: 60_000, heartbeat: 10_000 },
        ...fields,
      },
    ],
  };
}
