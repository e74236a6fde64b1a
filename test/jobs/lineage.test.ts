import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import {
  type JobTool,
  type JobTurn,
  jobOf,
  jobTool,
  openJobEnvironment,
  responsesOf,
  startJobTurn,
} from '../setup/job-turns.ts';
import { stepCalls } from '../setup/scripts.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

const parked: JobTool = {
  execute: () => undefined,
  poll: () => undefined,
  cancel: () => undefined,
  onTimeout: () => undefined,
};
const detached: JobTool = { ...parked, execute: () => ({ status: 'ordered' }) };

let tools = parked;
let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openJobEnvironment([jobTool('ship', () => tools)]);
});
afterAll(() => environment.close());

async function forkOf({ names }: JobTurn): Promise<JobTurn['names']> {
  const to = randomUUID();
  const seq = (await environment.store.sessions.readEvents(names)).at(-1)?.seq ?? 0;
  await environment.client.sessions.fork({ ...names, at: seq, to });
  return { ...names, sessionId: to };
}

/** What a session was told of its calls, once its next turn has ended. */
async function toldNext(names: JobTurn['names']) {
  environment.gemini.reset(stepCalls([]));
  const turn = await environment.client.sendMessage({ ...names, message: 'and now?' });
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  return await responsesOf(environment, names);
}

test('a job that a turn waits for is its own session’s, and not that of a fork [job.park] [session.fork]', async () => {
  tools = parked;
  const turn = await startJobTurn(environment, 'ship');
  const { jobId } = await turn.job('parked');
  const fork = await forkOf(turn);
  expect(await toldNext(fork)).toEqual([]);
  // A call that will never have a response there is none that the fork's model sees.
  expect(JSON.stringify(environment.gemini.requests.at(-1)?.body)).not.toContain('functionCall":');
  environment.gemini.reset(stepCalls([[{ name: 'ship' }]]));
  await environment.client.jobs.complete(jobId, { result: { parts: 3 } });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { parts: 3 } }]);
  expect(await responsesOf(environment, fork)).toEqual([]);
});

test('a job that goes on is told to its own session, and not to a fork [job.detach] [session.fork]', async () => {
  tools = detached;
  const turn = await startJobTurn(environment, 'ship');
  await turn.result;
  const { jobId } = await turn.job('detached');
  const fork = await forkOf(turn);
  await environment.client.jobs.complete(jobId, { result: { parts: 3 } });
  await expect.poll(async () => (await responsesOf(environment, turn.names)).length).toBe(2);
  expect((await responsesOf(environment, turn.names)).at(-1)).toMatchObject({ response: { parts: 3 } });
  expect(await toldNext(fork)).toMatchObject([{ response: { status: 'ordered' }, willContinue: true }]);
});

test('a rewind is refused while a job is waited for [job.park] [session.rewind]', async () => {
  tools = parked;
  const turn = await startJobTurn(environment, 'ship');
  const { jobId } = await turn.job('parked');
  const [first] = await environment.store.sessions.readEvents(turn.names);
  const beforeInvocationId = first?.event.invocationId ?? '';
  await expect(
    environment.client.sessions.rewind({ ...turn.names, beforeInvocationId }),
  ).rejects.toMatchObject({ code: 'HOLDFAST_TURN_RUNNING' });
  await environment.client.jobs.complete(jobId, { result: {} });
  await turn.result;
});

test('a job whose call a rewind has hidden goes on, and nobody is told its outcome [job.detach] [session.rewind]', async () => {
  tools = detached;
  const turn = await startJobTurn(environment, 'ship');
  await turn.result;
  const { jobId, callKey } = await turn.job('detached');
  const [first] = await environment.store.sessions.readEvents(turn.names);
  const beforeInvocationId = first?.event.invocationId ?? '';
  await environment.client.sessions.rewind({ ...turn.names, beforeInvocationId });
  const answer = await environment.client.jobs.complete(jobId, { result: { parts: 3 } });
  expect(answer).toMatchObject({ status: 'ended', job: 'completed' });
  const run = environment.temporal.workflow.getHandle(jobWorkflowIdOf(turn.workflowId, callKey));
  expect(await run.result()).toMatchObject({ status: 'completed', delivered: false });
  expect(await jobOf(environment, turn.names, 'detached', 'completed')).toMatchObject({ jobId });
  environment.gemini.reset(stepCalls([]));
  const next = await environment.client.sendMessage({ ...turn.names, message: 'and now?' });
  await next.result();
  expect(JSON.stringify(environment.gemini.requests.at(-1))).not.toMatch(/ordered|parts":3/);
});
