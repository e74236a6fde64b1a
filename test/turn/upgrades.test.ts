import { randomUUID } from 'node:crypto';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { DeploySite } from '../setup/deploy-site.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { quickenRetries } from '../setup/quicken-retries.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';

beforeAll(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

const agent = (name: string, tools: ConstructorParameters<typeof LlmAgent>[0]['tools'] = []) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', tools });

const names = () => ({ app: 'test', userId: 'ada', sessionId: randomUUID() });

describe('workers that come and go', () => {
  const site = new DeploySite();
  let gemini: MockGemini;

  beforeAll(async () => {
    gemini = await startMockGemini({ script: [] });
    Object.assign(process.env, gemini.env);
    await site.open();
  });
  beforeEach(() => site.undeploy());
  afterAll(async () => {
    await site.close();
    await gemini.close();
  });

  const lastFailure = async (workflowId: string) => {
    const { raw } = await site.temporal.workflow.getHandle(workflowId).describe();
    return raw.pendingActivities?.[0]?.lastFailure?.applicationFailureInfo?.type ?? '';
  };

  test('a worker without the agent leaves the turn to one that has it [upgrade.notDeployed]', async () => {
    gemini.reset(() => text('hello'));
    await site.deploy(agent('sales'));
    const turn = await site.client.sendMessage({ ...names(), agent: 'support', message: 'hi' });
    await expect.poll(() => lastFailure(turn.workflowId)).toBe('HOLDFAST_NOT_DEPLOYED_HERE');
    await site.undeploy();
    await site.deploy(agent('support'));
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'hello' });
  });

  test('a call whose tool takes other arguments by now is answered with what is wrong [upgrade.changedTool]', async () => {
    gemini.reset(stepCalls([[{ name: 'pay', args: { euros: 5 } }]]));
    const held = new HeldTool('pay');
    await site.deploy(agent('support', [held.tool()]));
    const session = names();
    const turn = await site.client.sendMessage({ ...session, message: 'pay' });
    await held.begun();
    await site.undeploy();
    const pay = tool({
      name: 'pay',
      description: 'pays',
      parameters: z.object({ cents: z.number() }),
      execute: () => ({ paid: true }),
    });
    await site.deploy(agent('support', [pay]));
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    const responses = (await site.store.sessions.readEvents(session)).find(
      ({ kind }) => kind === 'responses',
    );
    expect(responses?.event.content?.parts?.[0]?.functionResponse?.response).toEqual({
      error: expect.stringMatching(/cents/),
    });
  });

  if (isDeep) {
    test('a call whose tool nobody has any more is answered, and the turn goes on [upgrade.changedTool] [upgrade.notDeployed]', async () => {
      gemini.reset(stepCalls([[{ name: 'pay' }]]));
      const held = new HeldTool('pay');
      await site.deploy(agent('support', [held.tool()]));
      const session = names();
      const turn = await site.client.sendMessage({ ...session, message: 'pay' });
      await held.begun();
      await site.undeploy();
      await site.deploy(agent('support'));
      // Seven attempts, which take a minute otherwise. A call that was inline has an activity now.
      await until(() => quickenRetries(site.temporal, turn.workflowId, 'pay'));
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      const responses = (await site.store.sessions.readEvents(session)).find(
        ({ kind }) => kind === 'responses',
      );
      expect(responses?.event.content?.parts?.[0]?.functionResponse?.response).toEqual({
        error: expect.stringMatching(/may have run.*no tool "pay"/),
      });
    });
  }

  test('starts of a newer version are refused, fields that nobody knows are not [upgrade.versions]', async () => {
    gemini.reset(() => text('hello'));
    await site.deploy(agent('support'));
    const start = (fields: object, ...more: unknown[]) => {
      const session = names();
      return site.temporal.workflow.execute('agentTurn', {
        workflowId: `test/ada/${session.sessionId}`,
        taskQueue: 'holdfast',
        args: [{ ...session, message: 'hi', ...fields }, ...more],
      }) as Promise<TurnResult>;
    };
    await expect(start({ v: 2 })).rejects.toMatchObject({
      cause: { type: 'InvalidStart', message: expect.stringMatching(/v: .*deploy a newer worker/) },
    });
    expect(await start({ v: 1, colour: 'blue' })).toMatchObject({ v: 1, status: 'completed' });
  });
});

if (isDeep) {
  test('a turn goes on when everything was shut down, deployed anew and started again, without a message [resume.days]', async () => {
    const site = new DeploySite();
    const gemini = await startMockGemini({ script: stepCalls([[{ name: 'hold' }]]) });
    Object.assign(process.env, gemini.env);
    try {
      await site.open();
      const before = new HeldTool();
      await site.deploy(agent('support', [before.tool()]));
      const session = names();
      const { workflowId } = await site.client.sendMessage({ ...session, message: 'go', messageId: 'm' });
      await before.begun();
      await site.shutDown();

      await site.open();
      const after = new HeldTool();
      after.release();
      await site.deploy(agent('support', [after.tool()]));
      expect(await site.temporal.workflow.getHandle(workflowId).result()).toMatchObject({
        status: 'completed',
        text: 'done',
      });
      expect((await site.store.sessions.readEvents(session)).map(({ kind }) => kind)).toEqual([
        'message',
        'model',
        'responses',
        'model',
      ]);
    } finally {
      await site.close();
      await gemini.close();
    }
  });
}
