import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobStage } from '../setup/job-stage.ts';
import { inTier } from '../setup/tier.ts';
import { Findings } from '../soak/violation.ts';
import { checkJob } from './checks.ts';
import { gatherJobs, untilAtRest } from './evidence.ts';
import { followsOrders } from './model.ts';
import { type OrderedJob, WAYS, type Way } from './ordered-job.ts';
import { SITUATIONS } from './situations.ts';

let stage: JobStage;
beforeAll(async () => {
  stage = await JobStage.open(followsOrders());
  await stage.worker.start();
});
afterAll(() => stage.close());

const SHOWN: Readonly<Record<Way, string>> = {
  message: 'by a message [job.message]',
  callback: 'by a callback [job.callback]',
  poll: 'by a poll [job.poll]',
  inProcess: 'in process [job.inProcess]',
};

describe.each(
  inTier(
    SITUATIONS.filter(({ isQuick }) => isQuick),
    SITUATIONS,
  ),
)('$name $shows, a job ends', (situation) => {
  const { begin, happens, finish, afterwards, expected, runs, answers } = situation;
  let jobs: Record<Way, OrderedJob>;
  /** All ways at once: what happens to their worker and server happens to all of them. */
  beforeAll(async () => {
    const all = await Promise.all(WAYS.map(async (way) => [way, await begin(stage, way)] as const));
    jobs = Object.fromEntries(all) as Record<Way, OrderedJob>;
    await happens?.(stage);
    await Promise.all(all.map(([way, job]) => finish(job, way, stage)));
    await afterwards?.(stage, jobs);
  });

  test.each(WAYS.map((way) => ({ way, shown: SHOWN[way] })))('$shown', async ({ way }) => {
    const job = jobs[way];
    await untilAtRest(stage, job.names);
    const results = await Promise.all(job.turns.map((turn) => turn.result()));
    for (const { status } of results) expect(['completed', 'interrupted']).toContain(status);
    const [evidence, ...others] = await gatherJobs(stage, job.names);
    expect(others).toEqual([]);
    if (evidence === undefined) throw new Error('its session has a job');
    const { status, by, response } = expected(way);
    const { row } = evidence;
    expect(row.status).toBe(status);
    if (by !== undefined) expect(row.endedBy).toBe(by);
    if (response !== undefined) expect(row.outcome?.response).toEqual(response);
    const found = new Findings(job.names.sessionId);
    const allowed = { runs: runs?.(way) ?? 1, answers: answers?.(way) ?? 1 };
    checkJob(evidence, job.answered, allowed, found);
    expect(found.violations).toEqual([]);
  });
});
