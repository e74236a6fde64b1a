import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { beating } from '../setup/beating.ts';
import { type JobTool, jobTool, openJobEnvironment, responsesOf, startJobTurn } from '../setup/job-turns.ts';
import { isDeep } from '../setup/tier.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

let tools: JobTool;
let told: string[] = [];
let runs: unknown[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  const by = () => tools;
  environment = await openJobEnvironment([
    jobTool('build', by, { inProcess: true, heartbeatTimeout: 2_000 }),
    jobTool('short', by, { inProcess: true, deadline: '1s' }, ['cancel', 'onTimeout']),
    jobTool(
      'brief',
      by,
      {
        inProcess: true,
        deadline: '1s',
        retry: { initialInterval: '1 minute', maximumInterval: '1 minute' },
      },
      ['cancel', 'onTimeout'],
    ),
  ]);
});
afterAll(() => environment.close());
beforeEach(() => {
  told = [];
  runs = [];
  tools = {
    execute: () => undefined,
    poll: () => undefined,
    cancel: ({ id }) => told.push(`cancelled ${id}`),
    onTimeout: () => ({ partial: true }),
  };
});

const never = new Promise<never>(() => undefined);

test('what the tool returns is the outcome, and its turn waits for it [job.inProcess]', async () => {
  tools.execute = async (_args, { job }) => {
    await job.progress(0.5, 'half');
    return { built: 7 };
  };
  const turn = await startJobTurn(environment, 'build');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { built: 7 } }]);
  expect(await turn.job('started', 'completed')).toMatchObject({
    endedBy: 'tool',
    progress: { value: 0.5, message: 'half' },
    outcome: { response: { built: 7 } },
  });
});

test('another worker goes on from the last details, also where the one between said nothing [job.inProcess]', async () => {
  let reached = Promise.withResolvers<void>();
  tools.execute = async (_args, context) => {
    runs.push(context.job.details);
    if (runs.length === 3) return { from: context.job.details };
    if (runs.length === 1) context.heartbeat({ page: 41 });
    reached.resolve();
    return await never;
  };
  const turn = await startJobTurn(environment, 'build');
  for (let stops = 0; stops < 2; stops += 1) {
    await reached.promise;
    reached = Promise.withResolvers();
    await environment.restartWorker();
  }
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(runs).toEqual([undefined, { page: 41 }, { page: 41 }]);
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { from: { page: 41 } } }]);
});

test('somebody else may end it while its tool runs: that outcome counts [job.inProcess]', async () => {
  const reached = Promise.withResolvers<void>();
  tools.execute = async (_args, context) => {
    runs.push(context.attempt);
    reached.resolve();
    return await beating(context, never);
  };
  const turn = await startJobTurn(environment, 'build');
  await reached.promise;
  const { jobId } = await turn.job('started', 'running');
  await environment.client.jobs.complete(jobId, { result: { bought: true } });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { bought: true } }]);
  expect(runs).toEqual([1]);
});

test('an operator who cancels it has its tool told [job.cancel]', async () => {
  const reached = Promise.withResolvers<void>();
  tools.execute = async (_args, context) => {
    reached.resolve();
    return await beating(context, never);
  };
  const turn = await startJobTurn(environment, 'build');
  await reached.promise;
  const { jobId } = await turn.job('started', 'running');
  await environment.client.jobs.cancel(jobId);
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { error: 'cancelled' } }]);
  expect(told).toEqual([`cancelled ${jobId}`]);
});

if (isDeep) {
  test('cancelling its call ends it and has its tool told [job.cancel]', async () => {
    const reached = Promise.withResolvers<void>();
    tools.execute = async (_args, context) => {
      reached.resolve();
      return await beating(context, never);
    };
    const turn = await startJobTurn(environment, 'build');
    await reached.promise;
    const { jobId, callKey } = await turn.job('started', 'running');
    await environment.client.cancelCall(turn.names, { callKey });
    expect(await turn.result).toMatchObject({ status: 'completed' });
    await turn.job('started', 'cancelled');
    expect(told).toEqual([`cancelled ${jobId}`]);
  });
}

test('its deadline ends it with what its tool says [job.timeouts]', async () => {
  tools.execute = () => never;
  const turn = await startJobTurn(environment, 'short');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { partial: true } }]);
  const job = await turn.job('started', 'timed_out');
  expect(told).toEqual([`cancelled ${job.jobId}`]);
});

test('who does it is told of its end also where the last attempt of its call could not [job.cancel] [job.timeouts]', async () => {
  tools.execute = () => never;
  let asked = 0;
  tools.cancel = ({ id }) => {
    asked += 1;
    // The next attempt would come behind the time of the call.
    if (asked === 1) throw new Error('the service is away');
    told.push(`cancelled ${id}`);
  };
  const turn = await startJobTurn(environment, 'brief');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { partial: true } }]);
  const { jobId } = await turn.job('started', 'timed_out');
  expect(told).toEqual([`cancelled ${jobId}`]);
});
