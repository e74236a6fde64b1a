import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Media } from '../../src/tools/media.ts';
import { textOf } from '../setup/history-facts.ts';
import {
  type JobTool,
  type JobTurn,
  jobTool,
  openJobEnvironment,
  pollingAtOnce,
  responsesOf,
  startJobTurn,
} from '../setup/job-turns.ts';
import { isDeep } from '../setup/tier.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

let tools: JobTool;
let polls = 0;
let told: string[] = [];
const warnings: string[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  const by = () => tools;
  const hooks = ['poll', 'cancel'] as const;
  const at = { timeout: 2_000 };
  environment = await openJobEnvironment(
    [
      pollingAtOnce(jobTool('watch', by, at, hooks)),
      pollingAtOnce(jobTool('secret', by, { ...at, sensitive: true }, hooks)),
      pollingAtOnce(jobTool('hangs', by, { timeout: 50 }, hooks)),
      jobTool('unheard', by, { ...at, startTimeout: '1s' }, ['cancel']),
      jobTool('quiet', by, { ...at, silenceTimeout: '2s' }, ['cancel']),
      jobTool('ends_first', by, { silenceTimeout: '20s', deadline: '20s' }, ['cancel']),
      jobTool('seldom', by, { ...at, pollInterval: '1 day' }, hooks),
    ],
    {
      // It waits for a second else, however short the time until the next attempt is.
      serverConfig: ['history.timerProcessorMaxTimeShift="1ms"'],
      logger: { warn: (message, more) => warnings.push(`${message} ${JSON.stringify(more)}`) },
    },
  );
});
afterAll(() => environment.close());
beforeEach(() => {
  polls = 0;
  told = [];
  warnings.length = 0;
  tools = {
    execute: (_args, { state }) => void state.set('ticket', 'T-1'),
    poll: () => {
      polls += 1;
      return undefined;
    },
    cancel: ({ id }) => told.push(`cancelled ${id}`),
    onTimeout: () => undefined,
  };
});

async function historyOf({ workflowId }: JobTurn) {
  return await environment.temporal.workflow.getHandle(workflowId).fetchHistory();
}

test('polls that fail are counted apart, and ten in a row end the job [job.poll]', async () => {
  tools.poll = () => {
    polls += 1;
    if (polls === 10) return undefined;
    throw new Error(`no answer ${polls}`);
  };
  const turn = await startJobTurn(environment, 'watch');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(polls).toBe(20);
  const job = await turn.job('parked', 'failed');
  expect(job).toMatchObject({ endedBy: 'poll', polls: { notYet: 1, failed: 19, failedInARow: 10 } });
  const [response] = await responsesOf(environment, turn.names);
  expect(response?.response).toEqual({
    error: "Error in tool 'watch': its job was polled in vain, 10 times in a row: no answer 20",
  });
});

test('a poll that hangs is one that fails [job.poll]', async () => {
  tools.poll = () => {
    polls += 1;
    return polls < 3 ? new Promise(() => undefined) : { polls };
  };
  const turn = await startJobTurn(environment, 'hangs');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await turn.job('parked', 'completed')).toMatchObject({ polls: { failed: 2 } });
});

test('what a poll returns is a tool’s own result, media and state too [job.poll]', async () => {
  tools.poll = (_job, context) => {
    context.state.set('seen', 7);
    return new Media({ mimeType: 'image/png', data: Buffer.from('a picture') });
  };
  const turn = await startJobTurn(environment, 'watch');
  await turn.result;
  const events = await environment.store.sessions.readEvents(turn.names);
  const parts = events.flatMap(({ event }) => event.content?.parts ?? []);
  expect(parts).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        inlineData: { mimeType: 'image/png', data: Buffer.from('a picture').toString('base64') },
      }),
    ]),
  );
  const session = await environment.client.sessions.get(turn.names);
  expect(session?.state).toMatchObject({ ticket: 'T-1', seen: 7 });
});

test('a callback ends a job that is to be polled in a day [job.callback]', async () => {
  const turn = await startJobTurn(environment, 'seldom');
  const { jobId } = await turn.job('parked');
  await expect.poll(async () => (await environment.client.jobs.get(jobId))?.polls.notYet).toBe(1);
  await environment.client.jobs.complete(jobId, { result: { called: 'back' } });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  expect(await responsesOf(environment, turn.names)).toMatchObject([{ response: { called: 'back' } }]);
  expect(polls).toBe(1);
});

test('a job that never shows a sign of life is over by its startTimeout [job.timeouts]', async () => {
  const turn = await startJobTurn(environment, 'unheard');
  expect(await turn.result).toMatchObject({ status: 'completed' });
  const job = await turn.job('parked', 'timed_out');
  const text = 'its job gave no sign of life within 1 s (its startTimeout)';
  expect(job).toMatchObject({ endedBy: 'timeout', reason: text });
  expect((job.endedAt ?? 0) - job.since).toBeGreaterThanOrEqual(1_000);
});

test('a job that is silent for too long is over, however far its deadline [job.timeouts]', async () => {
  const turn = await startJobTurn(environment, 'quiet');
  const { jobId } = await turn.job('parked');
  await environment.client.jobs.progress(jobId, { value: 0.5, message: 'half' });
  expect(await turn.result).toMatchObject({ status: 'completed' });
  const job = await turn.job('parked', 'timed_out');
  const [response] = await responsesOf(environment, turn.names);
  const text = 'its job gave no sign of life for 2 s (its silenceTimeout)';
  expect(response?.response).toEqual({ error: `Error in tool 'quiet': ${text}` });
  expect(job).toMatchObject({ endedBy: 'timeout', reason: text, progress: { value: 0.5, message: 'half' } });
  expect((job.endedAt ?? 0) - (job.heardAt ?? 0)).toBeGreaterThanOrEqual(2_000);
  expect(told).toEqual([`cancelled ${jobId}`]);
});

test('no error of a sensitive tool’s poll is told to Temporal, logs and lists [job.poll]', async () => {
  tools.poll = () => {
    throw new Error('card 4111-secret was refused');
  };
  const turn = await startJobTurn(environment, 'secret');
  await turn.result;
  const job = await turn.job('parked', 'failed');
  expect(JSON.stringify(job)).not.toContain('4111-secret');
  expect(textOf(await historyOf(turn))).not.toContain('4111-secret');
  expect(warnings.join('\n')).toContain('poll of tool secret failed');
  expect(warnings.join('\n')).not.toContain('4111-secret');
});

if (isDeep) {
  test('a sign of life that is due behind the deadline keeps no outcome from being heard before [job.callback]', async () => {
    tools.execute = async (_args, { job }) => {
      // Its silence would last longer than the server waits for a last look.
      await setTimeout(3_000);
      await job.progress(0.5);
    };
    const turn = await startJobTurn(environment, 'ends_first');
    const { jobId, until } = await turn.job('parked');
    const looksAt = async () => (await environment.client.jobs.get(jobId))?.address?.activityId;
    await expect.poll(looksAt).toMatch(/\/wait$/);
    await environment.client.jobs.complete(jobId, { result: { n: 1 } });
    expect(await turn.result).toMatchObject({ status: 'completed' });
    expect(Date.now()).toBeLessThan(until);
  });
}
