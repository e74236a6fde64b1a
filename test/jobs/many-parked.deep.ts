import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import { jobTool, openJobEnvironment, responsesOf } from '../setup/job-turns.ts';
import { stepCalls } from '../setup/scripts.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

const turns = Number(process.env.HOLDFAST_PARKED_JOBS ?? 40);

/** Most of the turns are in no worker's memory. */
const CACHED = 10;

/** So many begin, and are told, at a time. */
const AT_ONCE = 20;

const runs = new Map<string, number>();
let environment: TurnEnvironment;
beforeAll(async () => {
  const tool = jobTool('ship', () => ({
    execute: (_args, { sessionId }) => void runs.set(sessionId, (runs.get(sessionId) ?? 0) + 1),
    poll: () => undefined,
    cancel: () => undefined,
    onTimeout: () => undefined,
  }));
  environment = await openJobEnvironment([tool], { workerOptions: { maxCachedWorkflows: CACHED } });
});
afterAll(() => environment.close());

async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const workOn = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workOn));
}

test('many turns wait for their jobs in one worker, and each is told its own outcome, once [job.park]', {
  timeout: 240_000 + turns * 2_000,
}, async () => {
  environment.gemini.reset(stepCalls([[{ name: 'ship' }]]));
  const app = 'test';
  const sent = Array.from({ length: turns }, () => ({ app, userId: 'ada', sessionId: randomUUID() }));
  const began = Date.now();
  const results = new Map<string, ReturnType<TurnHandle['result']>>();
  await each(sent, async (names) => {
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    results.set(names.sessionId, turn.result());
  });
  let jobs: JobRow[] = [];
  await expect
    .poll(
      async () => {
        jobs = await environment.store.jobs.list({ app, limit: 10 * turns });
        return jobs.filter(({ mode }) => mode === 'parked').length;
      },
      { timeout: 120_000 + turns * 1_000 },
    )
    .toBe(turns);
  const parked = Date.now();
  await each(jobs, async ({ jobId, sessionId }) => {
    const answer = await environment.client.jobs.complete(jobId, { result: { for: sessionId } });
    expect(answer).toMatchObject({ status: 'ended', job: 'completed' });
  });
  await each(sent, async (names) => {
    expect(await results.get(names.sessionId)).toMatchObject({ status: 'completed', text: 'done' });
    expect(await responsesOf(environment, names)).toMatchObject([{ response: { for: names.sessionId } }]);
    expect(runs.get(names.sessionId)).toBe(1);
  });
  if (process.env.HOLDFAST_PARKED_JOBS === undefined) return;
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  process.stderr.write(
    `${turns} jobs: parked in ${seconds(parked - began)} s, told in ${seconds(Date.now() - parked)} s\n`,
  );
});
