import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { ToolJobStatus } from '../../src/protocol/job.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { textOf } from '../setup/history-facts.ts';
import {
  type JobTool,
  type JobTurn,
  jobTool,
  openJobEnvironment,
  responsesOf,
  startJobTurn,
} from '../setup/job-turns.ts';
import { contentsOf } from '../setup/scripts.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

let tools: JobTool;
let told: string[] = [];
let runs = 0;
const held = new HeldTool();

let environment: TurnEnvironment;
beforeAll(async () => {
  const by = () => tools;
  environment = await openJobEnvironment([
    jobTool('order', by),
    jobTool('secret', by, { sensitive: true }),
    jobTool('ends', by, {}, ['cancel', 'onTimeout']),
    held.tool(),
  ]);
});
afterAll(() => environment.close());
beforeEach(() => {
  told = [];
  runs = 0;
  held.hold();
  tools = {
    execute: () => {
      runs += 1;
      return { status: 'ordered' };
    },
    poll: () => undefined,
    cancel: ({ id }) => told.push(`cancelled ${id}`),
    onTimeout: ({ intermediate }) => ({ partial: intermediate }),
  };
});

function jobRun({ workflowId }: JobTurn, callKey: string) {
  return environment.temporal.workflow.getHandle(jobWorkflowIdOf(workflowId, callKey));
}

/** What its session was told last. */
async function late(turn: JobTurn, count = 2) {
  await expect.poll(async () => (await responsesOf(environment, turn.names)).length).toBe(count);
  return (await responsesOf(environment, turn.names)).at(-1);
}

test('a value is told to the model; the outcome comes later, and starts a turn [job.detach]', async () => {
  const turn = await startJobTurn(environment, 'order');
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'done' });
  const job = await turn.job('detached');
  expect(job).toMatchObject({ status: 'running', intermediate: { status: 'ordered' } });
  expect(await responsesOf(environment, turn.names)).toMatchObject([
    { name: 'order', response: { status: 'ordered' }, willContinue: true },
  ]);
  await environment.client.jobs.complete(job.jobId, { result: { parts: 3 } });
  expect(await late(turn)).toMatchObject({ id: job.callId, name: 'order', response: { parts: 3 } });
  const status = (await jobRun(turn, job.callKey).result()) as ToolJobStatus;
  expect(status).toMatchObject({ status: 'completed', delivered: true });
  expect(runs).toBe(1);
  // The model sees one response to the call: the outcome.
  await expect.poll(() => environment.gemini.requests.length).toBe(3);
  const seen = JSON.stringify(contentsOf(environment.gemini.requests.at(-1)));
  expect(seen).toContain('"parts":3');
  expect(seen).not.toContain('ordered');
  expect(told).toEqual([]);
});

test('an outcome that comes while another turn runs waits for it, and is told once [job.detach]', async () => {
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const { jobId } = await turn.job('detached');
  const next = await startJobTurn(environment, 'hold', { names: turn.names });
  await held.begun();
  const answers = await Promise.all([
    environment.client.jobs.complete(jobId, { result: { parts: 3 } }),
    environment.client.jobs.complete(jobId, { result: { parts: 3 } }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual(['duplicate', 'ended']);
  held.release();
  await next.result;
  expect(await late(turn, 3)).toMatchObject({ response: { parts: 3 } });
});

test('updates stand in the place of the first value, until the outcome does [job.updates]', async () => {
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const { jobId, callId } = await turn.job('detached');
  for (const n of [1, 2]) {
    const response = { status: `packed ${n}` };
    const update = { functionResponse: { id: callId, name: 'order', response, willContinue: true } };
    const handle = await environment.client.sendMessage({
      ...turn.names,
      message: { role: 'user', parts: [update] },
    });
    await handle.result();
  }
  expect(await turn.job('detached', 'running')).toMatchObject({ intermediate: { status: 'packed 2' } });
  await environment.client.jobs.complete(jobId, { result: { parts: 3 } });
  expect(await late(turn, 4)).toMatchObject({ response: { parts: 3 } });
  expect(runs).toBe(1);
});

test('a message with the response of its call ends a job of an earlier turn [job.message]', async () => {
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const { jobId, callId, callKey } = await turn.job('detached');
  const handle = await environment.client.sendMessage({
    ...turn.names,
    message: {
      role: 'user',
      parts: [{ functionResponse: { id: callId, name: 'order', response: { parts: 4 } } }],
    },
  });
  await handle.result();
  expect(await environment.client.jobs.get(jobId)).toMatchObject({
    status: 'completed',
    endedBy: 'message',
    outcome: { response: { parts: 4 } },
  });
  expect(await jobRun(turn, callKey).result()).toMatchObject({ status: 'completed', delivered: true });
  // Nobody is told twice.
  expect(await late(turn)).toMatchObject({ response: { parts: 4 } });
});

test('whoever cancels a job that nobody waits for has its tool told, and its session [job.cancel]', async () => {
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const job = await turn.job('detached');
  await environment.client.jobs.cancel(job.jobId, { reason: 'too dear' });
  expect(await late(turn)).toMatchObject({ response: { error: 'cancelled: too dear' } });
  expect(await jobRun(turn, job.callKey).result()).toMatchObject({ status: 'cancelled', delivered: true });
  expect(told).toEqual([`cancelled ${job.jobId}`]);
});

test('a job out of time tells what is left of it [job.timeouts]', async () => {
  const turn = await startJobTurn(environment, 'ends');
  await turn.result;
  const job = await turn.job('detached');
  const run = jobRun(turn, job.callKey);
  await run.executeUpdate('holdfast.expireJob', { args: [{ v: 1, jobId: job.jobId }] });
  expect(await late(turn)).toMatchObject({ response: { partial: { status: 'ordered' } } });
  expect(told).toEqual([`cancelled ${job.jobId}`]);
});

test('a large outcome is told, too [job.detach]', async () => {
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const { jobId } = await turn.job('detached');
  const lines = 'x'.repeat(300_000);
  await environment.client.jobs.complete(jobId, { result: { lines } });
  expect((await late(turn))?.response).toEqual({ lines });
});

test('a tool decides while it runs whether its call goes on [job.detach]', async () => {
  tools.execute = (_args, context) => {
    context.longRunning = false;
    return { ready: true };
  };
  const turn = await startJobTurn(environment, 'order');
  await turn.result;
  const [response] = await responsesOf(environment, turn.names);
  expect(response).toMatchObject({ response: { ready: true } });
  expect(response?.willContinue).toBeUndefined();
  expect(await turn.job('started', 'completed')).toMatchObject({ endedBy: 'tool' });
});

test('nothing of what a sensitive tool tells stands in a history [job.detach]', async () => {
  tools.execute = () => ({ pin: 'first-secret-1234' });
  const turn = await startJobTurn(environment, 'secret');
  await turn.result;
  const job = await turn.job('detached');
  await environment.client.jobs.complete(job.jobId, { result: { pin: 'last-secret-5678' } });
  expect((await late(turn))?.response).toEqual({ pin: 'last-secret-5678' });
  const run = jobRun(turn, job.callKey);
  await run.result();
  const runsOfTurn: string[] = [];
  const query = `WorkflowId = "${turn.workflowId}"`;
  await expect
    .poll(async () => {
      runsOfTurn.length = 0;
      for await (const { runId } of environment.temporal.workflow.list({ query })) runsOfTurn.push(runId);
      return runsOfTurn.length;
    })
    .toBe(2);
  const handles = [
    run,
    ...runsOfTurn.map((id) => environment.temporal.workflow.getHandle(turn.workflowId, id)),
  ];
  for (const handle of handles) {
    expect(textOf(await handle.fetchHistory())).not.toContain('secret-');
  }
});

test('a call that is run again gives up its job, and the tool is told [job.cancel] [session.retry]', async () => {
  const turn = await startJobTurn(environment, 'ends');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  const job = await turn.job('detached');
  const retried = await environment.client.sessions.retry({ ...turn.names, callKey: job.callKey });
  expect(await retried.result()).toMatchObject({ status: 'completed' });
  const status = (await jobRun(turn, job.callKey).result()) as ToolJobStatus;
  expect(status).toMatchObject({ status: 'cancelled', delivered: false });
  expect(told).toEqual([`cancelled ${job.jobId}`]);
  expect(runs).toBe(2);
});
