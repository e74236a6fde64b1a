import { afterAll, beforeAll, expect, test } from 'vitest';
import { scheduledActivities } from '../setup/history-facts.ts';
import {
  type JobTool,
  jobTool,
  openJobEnvironment,
  pollingAtOnce,
  responsesOf,
  startJobTurn,
} from '../setup/job-turns.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

const tools: JobTool = {
  execute: () => undefined,
  poll: () => undefined,
  cancel: () => undefined,
  onTimeout: () => undefined,
};

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openJobEnvironment(
    [pollingAtOnce(jobTool('watch', () => tools, { timeout: 2_000 }, ['poll']))],
    // It waits for a second else, however short the time until the next attempt is.
    { serverConfig: ['history.timerProcessorMaxTimeShift="1ms"'] },
  );
});
afterAll(() => environment.close());

test('a thousand polls add no more to the history than one [job.poll]', async () => {
  const lengths: number[] = [];
  for (const count of [1, 1_000]) {
    let polls = 0;
    tools.poll = ({ args }) => {
      polls += 1;
      return polls < count ? undefined : { of: args.month, polls };
    };
    const turn = await startJobTurn(environment, 'watch', { args: { month: 'May' } });
    expect(await turn.result).toMatchObject({ status: 'completed' });
    expect(await responsesOf(environment, turn.names)).toMatchObject([
      { response: { of: 'May', polls: count } },
    ]);
    const job = await turn.job('parked', 'completed');
    expect(job).toMatchObject({ endedBy: 'poll', polls: { notYet: count - 1, failed: 0 } });
    const history = await environment.temporal.workflow.getHandle(turn.workflowId).fetchHistory();
    expect(scheduledActivities(history).map(({ id }) => id)).toContain(`${job.callKey}/wait`);
    lengths.push(history.events?.length ?? 0);
  }
  expect(lengths[1]).toBe(lengths[0]);
}, 300_000);
