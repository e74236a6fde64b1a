import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { JobStage } from '../setup/job-stage.ts';
import { inTier } from '../setup/tier.ts';
import { Findings, type Violation } from '../soak/violation.ts';
import { JobActor, type PlayedJobs } from './actor.ts';
import { checkJob } from './checks.ts';
import { gatherJobs, type JobEvidence, untilAtRest } from './evidence.ts';
import { followsOrders } from './model.ts';
import { doomsOf, jobScenarios } from './plan.ts';

/** Another seed plays other scenarios; more sessions take longer. */
const seed = Number(process.env.HOLDFAST_JOBS_SEED ?? 1);
const sessions = Number(process.env.HOLDFAST_JOBS_SESSIONS ?? inTier(1, 6));
const AT_ONCE = 8;

/** It only ends what would never end. */
const LONGEST = 480_000 + sessions * 20_000;

interface Scene {
  played: PlayedJobs;
  jobs: JobEvidence[];
}

test('whatever is said of jobs, twice, too late and at once, and whatever is stopped and killed: each has one outcome, and everybody is told it [job.callback] [job.message] [job.poll] [job.inProcess] [job.cancel] [job.timeouts] [job.detach]', {
  timeout: LONGEST + 120_000,
}, async () => {
  const scenarios = jobScenarios(seed, sessions);
  const stage = await JobStage.open(followsOrders(), doomsOf(scenarios));
  try {
    await stage.worker.start();
    const patience = AbortSignal.timeout(LONGEST);
    const all: PlayedJobs[] = [];
    const left = scenarios.values();
    const playOn = async () => {
      for (const scenario of left) {
        all.push(await new JobActor(stage, scenario, seed, patience).play());
        // In the middle of it the server dies, too.
        if (all.length === Math.floor(sessions / 2)) await stage.restartServer();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playOn));
    const scenes: Scene[] = [];
    for (const played of all) {
      await untilAtRest(stage, played.scenario.names);
      scenes.push({ played, jobs: await gatherJobs(stage, played.scenario.names, true) });
    }
    const violations = (await Promise.all(scenes.map((scene) => check(stage, scene)))).flat();
    if (violations.length > 0) await keep(stage, scenes);
    expect(violations).toEqual([]);
    report(stage, scenes);
  } finally {
    await stage.close();
  }
});

async function check({ store, worker }: JobStage, { played, jobs }: Scene): Promise<Violation[]> {
  const { names } = played.scenario;
  const found = new Findings(names.sessionId);
  for (const problem of played.problems) found.expect(false, 'nothing is thrown but refusals', () => problem);
  for (const { invocationId } of played.turns) {
    const turn = await store.turns.findInvocation(names, invocationId);
    const ended = turn?.status === 'completed' || turn?.status === 'interrupted';
    found.expect(ended, 'every turn ends', () => `${invocationId}: ${turn?.status}`);
  }
  found.expectEqual(await store.messages.readInbox(names), [], 'every message is answered', 'inbox');
  for (const job of jobs) {
    const { count = 0, outcomes = [] } = played.messages.get(job.row.jobId) ?? {};
    const unheard = played.terminated;
    // A server that was away has lost the heartbeats of all.
    const runs = worker.deaths + 2;
    checkJob(job, played.answered, { runs, answers: 1 + count, said: outcomes, unheard }, found);
  }
  return found.violations;
}

/** What explains a violation, for who asks for it. */
async function keep(stage: JobStage, scenes: readonly Scene[]): Promise<void> {
  const folder = process.env.HOLDFAST_JOBS_OUT;
  if (folder === undefined) return;
  cpSync(stage.folder, folder, { recursive: true, filter: (path) => !path.endsWith('/store') });
  const inPlain = (_key: string, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value;
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(scenes, inPlain, 1));
  for (const { played } of scenes) {
    const { names } = played.scenario;
    const { app, userId, sessionId } = names;
    const events = await stage.store.sessions.readEvents({ ...names, limit: 10_000 });
    writeFileSync(join(folder, `${sessionId}.events.json`), JSON.stringify(events, undefined, 1));
    const query = `WorkflowId STARTS_WITH "${workflowIdOf(app, userId, sessionId)}"`;
    for await (const { workflowId, runId } of stage.temporal.workflow.list({ query })) {
      const history = await stage.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      const name = `${workflowId} ${runId}.json`.replaceAll('/', '_');
      writeFileSync(join(folder, name), JSON.stringify(history, undefined, 1));
    }
  }
}

/** Figures for who plays it for long. */
function report({ worker }: JobStage, scenes: readonly Scene[]): void {
  if (process.env.HOLDFAST_JOBS_SESSIONS === undefined) return;
  const rows = scenes.flatMap(({ jobs }) => jobs.map(({ row }) => row));
  const ends = Object.groupBy(rows, ({ status, endedBy }) => `${status} by ${endedBy}`);
  const counts = Object.entries(ends).map(([end, of = []]) => `${of.length} ${end}`);
  const said = scenes.flatMap(({ played }) => played.answered).length;
  process.stderr.write(
    `seed ${seed}: ${sessions} sessions, ${worker.deaths} deaths of workers, ${rows.length} jobs (${counts.join(', ')}), ${said} answers\n`,
  );
}
