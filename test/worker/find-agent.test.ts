import { describe, expect, test } from 'vitest';
import { agentOf, NotDeployedHere, reachAgents, treeOf } from '../../activities/agents.ts';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { ParallelAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import type { AgentRef } from '../../src/protocol/agent-run.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { deploy } from '../../worker/deploy.ts';

const llm = (name: string, config: Partial<LlmAgentConfig> = {}) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', ...config });

class Experts extends BaseToolset {
  asked = 0;
  agent: BaseAgent | undefined;

  override async getTools() {
    this.asked += 1;
    if (this.agent === undefined) throw new Error('the registry is down');
    return [new AgentTool({ agent: this.agent })];
  }

  override async close() {}
}

describe('where an agent is found [worker.agents]', () => {
  const critic = llm('critic');
  const otherCritic = llm('critic');
  const news = new ParallelAgent({ name: 'news', subAgents: [critic, llm('reader')] });
  const shop = llm('shop', { subAgents: [otherCritic] });
  const deployment = deploy({ agents: [news, shop] });

  test('by the root of its tree and its name: two trees may have agents of one name', () => {
    expect(agentOf(deployment, { name: 'critic', root: 'news' })).toBe(critic);
    expect(agentOf(deployment, { name: 'critic', root: 'shop' })).toBe(otherCritic);
    expect(agentOf(deployment, { name: 'shop', root: 'shop' })).toBe(shop);
    expect(treeOf(deployment, 'news')).toBe(news);
  });

  test('without a tree a root comes first, then all trees in their order', () => {
    const root = llm('reader');
    const more = deploy({ agents: [news, shop, root] });
    expect(agentOf(more, { name: 'reader' })).toBe(root);
    expect(agentOf(more, { name: 'critic' })).toBe(critic);
  });

  test.each<[AgentRef, string]>([
    [{ name: 'nobody' }, 'has no agent "nobody", only news, critic, reader, shop, critic: '],
    [{ name: 'reader', root: 'shop' }, 'has no agent "reader", only shop, critic: '],
    [{ name: 'critic', root: 'critic' }, 'has no agent "critic", only '],
    [
      { name: 'x', root: 'shop', within: [{ agent: 'critic', tool: 'expert' }] },
      'has no tool "expert", only none: ',
    ],
  ])('%j is not deployed', (ref, message) => {
    expect(() => agentOf(deployment, ref)).toThrow(NotDeployedHere);
    expect(() => agentOf(deployment, ref)).toThrow(message);
  });
});

describe('agents of tools [agentTool.run]', () => {
  const leaf = llm('leaf');
  const expert = llm('expert', { subAgents: [leaf] });
  const middle = llm('middle', { tools: [new AgentTool({ agent: expert })] });
  const root = llm('root', { tools: [new AgentTool({ agent: middle })] });
  const within = [
    { agent: 'root', tool: 'middle' },
    { agent: 'middle', tool: 'expert' },
  ];

  test('are found by the tools on the way', () => {
    const deployment = deploy({ agents: [root] });
    expect(agentOf(deployment, { name: 'expert', root: 'root', within })).toBe(expert);
    expect(agentOf(deployment, { name: 'leaf', root: 'root', within })).toBe(leaf);
    expect(agentOf(deployment, { name: 'middle', root: 'root', within: within.slice(0, 1) })).toBe(middle);
    expect(() => agentOf(deployment, { name: 'root', root: 'root', within })).toThrow(NotDeployedHere);
  });

  test('those of toolsets once the toolsets were asked, on this worker', async () => {
    const experts = new Experts();
    const asking = llm('asking', { tools: [experts] });
    const deployment = deploy({ agents: [asking] });
    const ref = { name: 'expert', root: 'asking', within: [{ agent: 'asking', tool: 'expert' }] };
    expect(() => agentOf(deployment, ref)).toThrow(NotDeployedHere);
    await reachAgents(deployment, ref);
    expect(() => agentOf(deployment, ref)).toThrow('the registry is down');
    experts.agent = expert;
    await reachAgents(deployment, ref);
    expect(agentOf(deployment, ref)).toBe(expert);
    expect(experts.asked).toBe(2);
  });

  test('one that has itself as a tool, at any depth', async () => {
    const experts = new Experts();
    const again = llm('again', { tools: [experts] });
    experts.agent = again;
    const hop = { agent: 'again', tool: 'again' };
    const ref = { name: 'again', root: 'again', within: [hop, hop, hop] };
    const deployment = deploy({ agents: [again] });
    await reachAgents(deployment, ref);
    expect(agentOf(deployment, ref)).toBe(again);
  });

  test('one that was added to the turn is made again', () => {
    const toolFactories = { expertOf: () => new AgentTool({ agent: expert }) };
    const app = new App({ name: 'desk', rootAgent: llm('desk'), durable: { toolFactories } });
    const deployment = deploy({ apps: [app] });
    const made = { app: 'desk', factory: 'expertOf', args: {} };
    const hop = { agent: 'desk', tool: 'expert', made };
    expect(agentOf(deployment, { name: 'leaf', root: 'desk', within: [hop] })).toBe(leaf);
    const gone = { ...hop, made: { ...made, factory: 'nothing' } };
    expect(() => agentOf(deployment, { name: 'leaf', root: 'desk', within: [gone] })).toThrow(
      `a tool that the invocation has added can't be made again`,
    );
  });
});

describe('what can not be deployed [worker.agents] [app.settings]', () => {
  test('an agent that has a parent', () => {
    const below = llm('below');
    llm('above', { subAgents: [below] });
    const problem = 'agent "below" is a sub-agent of "above": name the root of its tree, "above"';
    expect(() => deploy({ agents: [below] })).toThrow(`createWorker: agents[0]: ${problem}`);
    expect(() => new App({ name: 'shop', rootAgent: below })).toThrow(`App "shop": rootAgent: ${problem}`);
  });

  test('agents without a price, wherever they hang, where a budget wants one', () => {
    const expert = new AgentTool({ agent: llm('expert'), budget: { cost: 1 } });
    const rootAgent = new ParallelAgent({ name: 'all', subAgents: [llm('a', { tools: [expert] })] });
    const app = (durable: object) => new App({ name: 'shop', rootAgent, durable });
    expect(() => deploy({ apps: [app({})] })).toThrow('App "shop": durable.prices');
    const prices = { 'gemini-*': { input: 1, output: 1 } };
    expect([...deploy({ apps: [app({ prices })] }).roots.keys()]).toEqual(['all']);
  });

  test('a model that nobody knows, of an agent of a tool', () => {
    const unknown = new AgentTool({ agent: llm('expert', { model: 'no-such-model' }) });
    expect(() => deploy({ agents: [llm('root', { tools: [unknown] })] })).toThrow('no-such-model');
  });
});
