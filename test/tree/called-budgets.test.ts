import { describe, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BudgetLimits } from '../../src/agents/budget-limits.ts';
import { App } from '../../src/app/app.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const openEnvironment = shareEnvironment();

const again = (execute: () => unknown = () => ({ ok: true })) =>
  tool({ name: 'again', description: 'd', execute: async () => (await execute()) ?? {} });

const costing = (response: LlmResponse, totalTokenCount: number): LlmResponse => ({
  ...response,
  usageMetadata: { promptTokenCount: totalTokenCount, totalTokenCount },
});

/** It never comes to an end. */
const endless = (name: string, more: LlmResponse = calling({ name: 'again' })) =>
  new Speaking(name, [more], { tools: [again()] });

const asking = (...names: string[]) => calling(...names.map((name) => ({ name, args: { request: 'work' } })));

async function lead(workers: readonly Speaking[], budget: BudgetLimits, config: { attempts?: number } = {}) {
  const names = workers.map(({ agent }) => agent.name);
  const leader = new Speaking('leader', [asking(...names), 'summed up'], {
    tools: workers.map(({ agent }) => new AgentTool({ agent, ...config })),
  });
  const root = new Speaking('root', [asking('leader'), 'done'], {
    tools: [new AgentTool({ agent: leader.agent, budget })],
  });
  const scene = await TreeScene.open(openEnvironment, root.agent);
  const result = await scene.say('go');
  return { scene, result, leader, asked: workers.reduce((sum, { shown }) => sum + shown.length, 0) };
}

describe('agents that work for a run use its budget together [tree.budget]', () => {
  test('at the same time: what is under way when it is used up is all that goes beyond', async () => {
    const workers = [endless('one'), endless('two'), endless('three')];
    const { scene, result, leader, asked } = await lead(workers, { modelCalls: 10 });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(asked).toBeGreaterThanOrEqual(9);
    expect(asked).toBeLessThanOrEqual(9 + workers.length - 1);
    expect(leader.shown).toHaveLength(1);
    expect(JSON.stringify(await scene.responses())).toContain(
      "the agent's budget of 10 model calls is used up",
    );
  });

  if (isDeep) {
    test('one after another: a further attempt has what is left', async () => {
      const worker = endless('worker');
      const { result, asked } = await lead([worker], { modelCalls: 5 }, { attempts: 3 });
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(asked).toBe(4);
    });
  }

  if (isDeep) {
    test('tokens count like calls', async () => {
      const workers = ['one', 'two'].map((name) => endless(name, costing(calling({ name: 'again' }), 100)));
      const { result, asked } = await lead(workers, { tokens: 500 });
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(asked).toBeGreaterThanOrEqual(5);
      expect(asked).toBeLessThanOrEqual(6);
    });
  }

  if (isDeep) {
    test('time is that of the run', async () => {
      const slow = new Speaking('slow', [calling({ name: 'again' })], {
        tools: [again(() => new Promise((resolve) => setTimeout(resolve, 400)))],
      });
      const { scene, result, asked } = await lead([slow], { time: '2 seconds' });
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(asked).toBeLessThanOrEqual(6);
      expect(JSON.stringify(await scene.responses())).toContain('HOLDFAST_BUDGET_EXCEEDED');
    });
  }

  test('the budget of the app’s turn is that of the whole tree', async () => {
    const workers = [endless('one'), endless('two')];
    const root = new Speaking('root', [asking('one', 'two'), 'done'], {
      tools: workers.map(({ agent }) => new AgentTool({ agent })),
    });
    const app = new App({
      name: 'test',
      rootAgent: root.agent,
      durable: { budgets: { turn: { modelCalls: 8 } } },
    });
    const scene = await TreeScene.open(openEnvironment, root.agent, { apps: [app] });
    expect(await scene.say('go')).toMatchObject({
      status: 'failed',
      error: { code: 'HOLDFAST_BUDGET_EXCEEDED' },
    });
    const asked = workers.reduce((sum, { shown }) => sum + shown.length, 0);
    expect(asked).toBeGreaterThanOrEqual(7);
    expect(asked).toBeLessThanOrEqual(8);
  });
});
