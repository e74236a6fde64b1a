import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { EXPIRE_JOB, EXPIRE_REQUEST } from '../../src/protocol/names.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { type JobTool, jobTool, openJobEnvironment, startJobTurn } from '../setup/job-turns.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const hooks: JobTool = {
  execute: () => undefined,
  poll: () => undefined,
  cancel: () => undefined,
  onTimeout: () => undefined,
};
const pay = tool({
  name: 'pay',
  description: 'd',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const MALFORMED: readonly unknown[] = [
  true,
  'x',
  7,
  [],
  { callKey: [] },
  { requestId: {}, jobId: {} },
  { callId: '' },
];

interface Metadata {
  definition?: { updateDefinitions?: { name?: string }[] };
}

describe('in production', () => {
  let environment: TurnEnvironment;
  beforeAll(async () => {
    const agent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay] });
    environment = await openTurnEnvironment({ agents: [agent], production: true });
  });
  afterAll(() => environment.close());

  test('nobody lets time pass by an order, and none is offered, also after a restart [tests.expiry]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'pay' }]]));
    const turn = await AskingTurn.start(environment);
    const [request] = await turn.pending();
    for (const restarts of [false, true]) {
      if (restarts) await environment.restartWorker();
      for (const [name, args] of [
        [EXPIRE_REQUEST, [{ requestId: request?.requestId }]],
        [EXPIRE_REQUEST, []],
        [EXPIRE_JOB, []],
      ] as const) {
        const order = turn.handle.executeUpdate(name, { args: [...args] as [] });
        await expect(order).rejects.toMatchObject({
          cause: { message: expect.stringContaining('No registered') },
        });
      }
      const { definition } = await turn.handle.query<Metadata>('__temporal_workflow_metadata');
      const names = definition?.updateDefinitions?.map(({ name }) => name);
      expect(names).toContain('confirm');
      expect(names?.filter((name) => name?.startsWith('holdfast.'))).toEqual([]);
    }
    expect(await turn.pending()).toHaveLength(1);
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: true }]);
  });
});

describe('in a test environment', () => {
  let environment: TurnEnvironment;
  beforeAll(async () => {
    environment = await openJobEnvironment([pay, jobTool('report', () => hooks)]);
  });
  afterAll(() => environment.close());

  test('a malformed order expires no request [tests.expiry]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'pay' }]]));
    const turn = await AskingTurn.start(environment);
    await turn.pending();
    for (const given of MALFORMED) {
      const order = turn.handle.executeUpdate(EXPIRE_REQUEST, { args: [given] });
      await expect(order).rejects.toMatchObject({ cause: { type: 'InvalidDecision' } });
    }
    expect(await turn.pending()).toHaveLength(1);
    await turn.handle.executeUpdate(EXPIRE_REQUEST, { args: [] });
    await turn.result();
    expect(await turn.requests()).toMatchObject([{ status: 'expired' }]);
  });

  test('a malformed order expires no job [tests.expiry]', async () => {
    const turn = await startJobTurn(environment, 'report');
    await turn.job('parked');
    const handle = environment.temporal.workflow.getHandle(turn.workflowId);
    await expect.poll(async () => (await turn.status())?.jobs?.length).toBe(1);
    for (const given of MALFORMED) {
      const order = handle.executeUpdate(EXPIRE_JOB, { args: [given] });
      await expect(order).rejects.toMatchObject({ cause: { type: 'InvalidJob' } });
    }
    await turn.job('parked', 'running');
    await handle.executeUpdate(EXPIRE_JOB, { args: [] });
    await turn.job('parked', 'timed_out');
    expect(await turn.result).toMatchObject({ status: 'completed' });
  });
});
