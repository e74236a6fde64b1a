import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { jobIdOf } from '../../src/protocol/identity.ts';
import { EXPIRE_JOB } from '../../src/protocol/names.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { type JobTool, jobTool, openJobEnvironment, responsesOf, startJobTurn } from '../setup/job-turns.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

/** What the tools of this file do: set by each test. */
let tools: JobTool;
let told: string[] = [];
let runs = 0;
const warnings: string[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  const by = () => tools;
  const retry = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
  environment = await openJobEnvironment(
    [
      jobTool('report', by, { retry }),
      jobTool('waits', by, { pauseOnReturn: true }),
      tool({
        name: 'decides',
        description: 'd',
        outputSchema: z.object({ url: z.string() }),
        execute: (args, context) => tools.execute(args as Record<string, unknown>, context) as never,
      }),
      jobTool('ends', by, { deadline: '2 days' }, ['cancel', 'onTimeout']),
    ],
    { logger: { warn: (message) => warnings.push(message) } },
  );
});
afterAll(() => environment.close());
beforeEach(() => {
  told = [];
  runs = 0;
  tools = {
    execute: () => {
      runs += 1;
    },
    poll: () => undefined,
    cancel: ({ id }) => told.push(`cancelled ${id}`),
    onTimeout: () => ({ partial: true }),
  };
});

const RESULT = { url: 'https://reports.example.com/7' };

test('a tool that returns nothing parks its turn until its job has an outcome [job.park]', async () => {
  const turn = await startJobTurn(environment, 'report');
  const job = await turn.job('parked');
  expect(job).toMatchObject({ status: 'running', tool: 'report', agent: 'support' });
  expect(job.jobId).toBe(jobIdOf(job.session, job.callKey));
  await expect.poll(turn.status).toMatchObject({ status: 'waiting_job', jobs: [{ jobId: job.jobId }] });
  const answer = await environment.client.jobs.complete(job.jobId, { result: RESULT });
  expect(answer).toMatchObject({ status: 'ended', job: 'completed' });
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'done' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ name: 'report', response: RESULT }]);
  expect(runs).toBe(1);
  expect(told).toEqual([]);
});

test('a tool that fails parks nothing, and whoever comes later is told so [job.park]', async () => {
  tools.execute = () => {
    runs += 1;
    throw new Error('the service is down');
  };
  const turn = await startJobTurn(environment, 'report');
  await turn.result;
  expect(runs).toBe(2);
  const error = "Error in tool 'report': the service is down";
  const [response] = await responsesOf(environment, turn.names);
  expect(response).toMatchObject({ response: { error } });
  const job = await turn.job('started', 'failed');
  expect(job).toMatchObject({ endedBy: 'tool', outcome: { response: { error }, failed: true } });
  expect(await environment.client.jobs.complete(job.jobId, { result: RESULT })).toMatchObject({
    status: 'known',
  });
});

test('with pauseOnReturn the turn waits though there is a value, which people see [job.pause]', async () => {
  tools.execute = () => ({ status: 'ordered' });
  const turn = await startJobTurn(environment, 'waits');
  const job = await turn.job('parked');
  expect(job).toMatchObject({ intermediate: { status: 'ordered' } });
  expect(await responsesOf(environment, turn.names)).toEqual([]);
  await environment.client.jobs.complete(job.jobId, { result: 7 });
  await turn.result;
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { result: 7 } }]);
});

test('what its tool has written before it parked is kept with the outcome [job.park]', async () => {
  tools.execute = (_args, { state }) => void state.set('ticket', 'T-7');
  const turn = await startJobTurn(environment, 'report');
  const { jobId } = await turn.job('parked');
  await environment.client.jobs.complete(jobId, { result: RESULT });
  await turn.result;
  const session = await environment.client.sessions.get(turn.names);
  expect(session?.state).toMatchObject({ ticket: 'T-7' });
});

test('cancelling a call ends its job and tells whoever does it, once [job.cancel]', async () => {
  const turn = await startJobTurn(environment, 'report');
  const { jobId, callKey } = await turn.job('parked');
  await environment.client.cancelCall(turn.names, { callKey, reason: 'not wanted' });
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'done' });
  const job = await turn.job('parked', 'cancelled');
  expect(job.outcome?.failed).toBe(true);
  const [response] = await responsesOf(environment, turn.names);
  expect(response?.response).toEqual(job.outcome?.response);
  expect(String(response?.response?.error)).toContain('not wanted');
  expect(told).toEqual([`cancelled ${jobId}`]);
});

test('an operator cancels a job: its turn goes on, its tool is told once [job.cancel]', async () => {
  const turn = await startJobTurn(environment, 'report');
  const { jobId } = await turn.job('parked');
  const { jobs } = environment.client;
  const answers = await Promise.all([
    jobs.cancel(jobId, { reason: 'too dear' }),
    jobs.cancel(jobId, { reason: 'too dear' }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual(['duplicate', 'ended']);
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(told).toEqual([`cancelled ${jobId}`]);
  const [response] = await responsesOf(environment, turn.names);
  expect(response?.response).toEqual(answers[0]?.outcome?.response);
});

test('a hook that fails is asked again, as often as its tool would be, and logged [job.cancel]', async () => {
  tools.cancel = () => {
    told.push('asked');
    throw new Error('nobody listens');
  };
  const turn = await startJobTurn(environment, 'report');
  const { jobId } = await turn.job('parked');
  await environment.client.jobs.cancel(jobId);
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(told).toEqual(['asked', 'asked']);
  expect(warnings).toContain('cancel of tool report failed');
});

test('a job out of time ends with what its tool says, and whoever does it is told [job.timeouts]', async () => {
  const turn = await startJobTurn(environment, 'ends');
  const job = await turn.job('parked');
  expect(job.until - job.since).toBe(2 * 86_400_000);
  await expect.poll(turn.status).toMatchObject({ status: 'waiting_job' });
  const handle = environment.temporal.workflow.getHandle(turn.workflowId);
  await handle.executeUpdate(EXPIRE_JOB, { args: [{ v: 1, jobId: job.jobId }] });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { partial: true } }]);
  expect(await turn.job('parked', 'timed_out')).toMatchObject({ endedBy: 'timeout' });
  expect(told).toEqual([`cancelled ${job.jobId}`]);
});

test('what the hook of a job out of time has set and saved counts with its outcome [job.timeouts]', async () => {
  tools.onTimeout = async (_job, context) => {
    context.state.set('late', true);
    await context.saveArtifact('part.txt', { text: 'half' });
    return { partial: true };
  };
  const turn = await startJobTurn(environment, 'ends');
  const { jobId } = await turn.job('parked');
  await expect.poll(turn.status).toMatchObject({ status: 'waiting_job' });
  const handle = environment.temporal.workflow.getHandle(turn.workflowId);
  await handle.executeUpdate(EXPIRE_JOB, { args: [{ v: 1, jobId }] });
  await turn.result;
  const events = await environment.store.sessions.readEvents(turn.names);
  const [{ event } = {}] = events.filter(({ event }) => event.actions.artifactDelta['part.txt'] === 0);
  expect(event?.actions.stateDelta).toMatchObject({ late: true });
});

test('a job out of time of a tool that says nothing is an error that names the time [job.timeouts]', async () => {
  const turn = await startJobTurn(environment, 'report');
  const { jobId } = await turn.job('parked');
  await expect.poll(turn.status).toMatchObject({ status: 'waiting_job' });
  const handle = environment.temporal.workflow.getHandle(turn.workflowId);
  await handle.executeUpdate(EXPIRE_JOB, { args: [{ v: 1, jobId }] });
  await turn.result;
  const [response] = await responsesOf(environment, turn.names);
  expect(response?.response).toEqual({
    error: "Error in tool 'report': its job had no outcome within 168 h (its deadline)",
  });
});

test('a tool decides while it runs that its turn waits, and tells how far it is [job.park] [job.progress]', async () => {
  tools.execute = async (_args, context) => {
    runs += 1;
    await context.job.progress(0.25, 'ordered');
    context.longRunning = true;
  };
  const turn = await startJobTurn(environment, 'decides');
  const job = await turn.job('parked');
  expect(job.progress).toMatchObject({ value: 0.25, message: 'ordered' });
  await expect.poll(turn.status).toMatchObject({ jobs: [{ progress: { value: 0.25, message: 'ordered' } }] });
  await environment.client.jobs.complete(job.jobId, { result: RESULT });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: RESULT }]);
  expect(runs).toBe(1);
});

test('an outcome that is none of the tool’s is told as an error, as its own would be [job.park]', async () => {
  tools.execute = (_args, context) => {
    context.longRunning = true;
  };
  const turn = await startJobTurn(environment, 'decides');
  const { jobId } = await turn.job('parked');
  await environment.client.jobs.complete(jobId, { result: { url: 7 } });
  await turn.result;
  const [response] = await responsesOf(environment, turn.names);
  expect(String(response?.response?.error)).toMatch(
    /^Error in tool 'decides': the result doesn't match outputSchema/,
  );
});
