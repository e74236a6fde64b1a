import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { HOUR, JobTurn, REPORT } from './job-turn.ts';
import { newNames, Turn, USAGE } from './turn.ts';

const NOBODY = { session: 'nobody', jobId: 'job-0' };

export function jobSuite(store: () => PostgresStore): void {
  test('a job is kept from its first write on, wherever it is looked for [job.park]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const before = Date.now();
    const opened = await turn.openJob(1, 0);
    const { deadline: _deadline, ...job } = turn.newJob(1, 0);
    expect(opened).toEqual({
      ...job,
      ...turn.names,
      invocationId: turn.invocationId,
      status: 'running',
      mode: 'started',
      since: expect.any(Number),
      until: opened.since + HOUR,
      polls: { notYet: 0, failed: 0, failedInARow: 0 },
    });
    expect(opened.since).toBeGreaterThanOrEqual(before - 1_000);
    expect(await turn.job(1, 0)).toEqual(opened);
    expect(await store().listJobs(turn.names)).toEqual([opened]);
  });

  test('a job that is begun again keeps its deadline, and who waits for it changes', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const opened = await turn.openJob(1, 0);
    const address = { workflowId: 'w', runId: 'r-2', activityId: 'a' };
    expect(await turn.openJob(1, 0, { address, deadline: 1 })).toEqual({ ...opened, address });
    const wait = { ...address, activityId: 'a/wait' };
    const { session } = turn;
    const { jobId } = opened;
    expect(await store().awaitJob({ session, jobId, address: wait })).toEqual({ ...opened, address: wait });
    await turn.endJob(1, 0);
    const ended = await turn.job(1, 0);
    expect(ended).toMatchObject({ status: 'completed', address: wait });
    expect(await store().awaitJob({ session, jobId, address })).toEqual(ended);
    expect(await turn.openJob(1, 0)).toEqual(ended);
  });
}
