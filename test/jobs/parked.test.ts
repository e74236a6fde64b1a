import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { tellWaiting } from '../../src/jobs/tell-waiting.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import { type JobTool, jobTool, openJobEnvironment, responsesOf, startJobTurn } from '../setup/job-turns.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

/** What the tools of this file do: set by each test. */
let tools: JobTool;
let told: string[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  const by = () => tools;
  environment = await openJobEnvironment([
    jobTool('report', by),
    jobTool('waits', by, { pauseOnReturn: true }),
  ]);
});
afterAll(() => environment.close());
beforeEach(() => {
  told = [];
  tools = {
    execute: () => undefined,
    poll: () => undefined,
    cancel: ({ id }) => told.push(`cancelled ${id}`),
    onTimeout: () => undefined,
  };
});

test('a tool that returns nothing parks its turn until its job has an outcome [job.park]', async () => {
  const turn = await startJobTurn(environment, 'report');
  const job = await turn.job('parked');
  expect(job).toMatchObject({ status: 'running', tool: 'report', agent: 'support' });
  expect(job.jobId).toBe(jobIdOf(job.session, job.callKey));
  await expect.poll(turn.status).toMatchObject({ status: 'waiting_job', jobs: [{ jobId: job.jobId }] });

  const outcome = { response: { url: 'https://reports.example.com/7' }, failed: false };
  const ended = await environment.store.endJob({
    jobId: job.jobId,
    status: 'completed',
    outcome,
    by: 'callback',
  });
  expect(ended).toMatchObject({ first: true, repeated: false });
  await tellWaiting(environment.temporal, ended.job);
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'done' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([
    { name: 'report', response: { url: 'https://reports.example.com/7' } },
  ]);
});
