import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { ownTool } from '../../activities/tool/find-tool.ts';
import { MOST_TRANSFERS, transferTargets, transferToAgentTool } from '../../src/agents/agent-transfer.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { findTool } from '../../src/flows/resolve-tools.ts';
import { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { siteOf } from './request-scene.ts';

type Config = Partial<Omit<LlmAgentConfig, 'subAgents'>>;

const llm = (name: string, config: Config = {}, subAgents: BaseAgent[] = []) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', description: `Knows ${name}.`, ...config, subAgents });
const lookUp = tool({ name: 'look_up', description: '', execute: () => 1 });

function tree(config: Config = {}, ofRoot: Config = {}) {
  const refunds = llm('refunds');
  const billing = llm('billing', config, [refunds]);
  const steps = new SequentialAgent({
    name: 'steps',
    subAgents: [llm('first', {}, [llm('helper')]), llm('last')],
  });
  const desk = llm('desk', ofRoot, [billing, llm('shipping'), steps]);
  return desk;
}
const found = (root: BaseAgent, name: string) => {
  const agent = root.findAgent(name);
  if (!(agent instanceof LlmAgent)) throw new Error(`no ${name}`);
  return agent;
};
const offered = async (agent: LlmAgent) => (await buildRequest(siteOf(agent))).request;

describe('to whom a turn may be transferred [transfer.to]', () => {
  test.each<[string, Config, string, string[]]>([
    ['the root', {}, 'desk', ['billing', 'shipping', 'steps']],
    ['in the middle', {}, 'billing', ['refunds', 'desk', 'shipping', 'steps']],
    ['not back', { disallowTransferToParent: true }, 'billing', ['refunds', 'shipping', 'steps']],
    ['not aside', { disallowTransferToPeers: true }, 'billing', ['refunds', 'desk']],
    ['who answers by a schema', { outputSchema: { type: 'object' } }, 'billing', ['refunds']],
    ['a leaf', {}, 'refunds', ['billing']],
    ['below a workflow agent', {}, 'first', ['helper']],
    ['and nobody', {}, 'last', []],
  ])('%s', async (_, config, name, targets) => {
    const agent = found(tree(config), name);
    expect(transferTargets(agent).map((target) => target.name)).toEqual(targets);
    const { toolsDict } = await offered(agent);
    expect(Object.keys(toolsDict).includes('transfer_to_agent')).toBe(targets.length > 0);
  });

  test('the model is told of them with the words of ADK, and offered its tool', async () => {
    for (const name of ['desk', 'billing', 'refunds', 'shipping']) {
      const { config, toolsDict } = await offered(found(tree(), name));
      const theirs = await adkRequest(name);
      expect(config?.systemInstruction).toBe(theirs.config?.systemInstruction);
      const [ours, adks] = [toolsDict.transfer_to_agent, theirs.toolsDict.transfer_to_agent];
      expect(ours?.description).toBe(adks?.description);
      expect(ours?._getDeclaration()?.parametersJsonSchema).toMatchObject({ required: ['agentName'] });
    }
  });

  test('a parent that it can not hand on to is not told of', async () => {
    const { config } = await offered(found(tree(), 'first'));
    expect(config?.systemInstruction).toContain('Agent name: helper');
    expect(config?.systemInstruction).not.toContain('Your parent agent is');
  });

  test('beside tools of its own, and its own tool of that name once', async () => {
    expect(Object.keys((await offered(llm('a', { tools: [lookUp] }, [llm('b')]))).toolsDict)).toEqual([
      'transfer_to_agent',
      'look_up',
    ]);
    const own = await offered(llm('a', { tools: [transferToAgentTool] }, [llm('b')]));
    expect(Object.keys(own.toolsDict)).toEqual(['transfer_to_agent']);
    expect(own.config?.systemInstruction).toContain('You have a list of other agents to transfer to:');
  });

  test('any worker finds the tool again, where there is somebody to hand on to', async () => {
    const search = (agent: LlmAgent) =>
      findTool(
        { agent, context: new ReadonlyContext(siteOf(agent).init), toolFactories: new Map(), toolEdits: [] },
        'transfer_to_agent',
      );
    expect(await search(tree())).toBe(transferToAgentTool);
    expect(await search(found(tree(), 'last'))).toBeUndefined();
    const called = { name: 'transfer_to_agent', callId: 'c1' };
    expect(ownTool(tree(), called)).toBe(transferToAgentTool);
    expect(ownTool(found(tree(), 'last'), called)).toBeUndefined();
  });
});

describe('what the tool answers [transfer.unknown]', () => {
  const run = (agent: LlmAgent, agentName: string, transfers?: number) => {
    const { init } = siteOf(agent);
    delete init.invocation;
    const toolContext = new Context({ ...init, ...(transfers === undefined ? {} : { transfers }) });
    return transferToAgentTool
      .runAsync({ args: { agentName }, toolContext })
      .then((answer) => ({ answer, to: toolContext.actions.transferToAgent }));
  };

  test('a transfer to an allowed agent is queued', async () => {
    expect(await run(tree(), 'billing')).toEqual({ answer: 'Transfer queued', to: 'billing' });
    expect(await run(tree(), 'steps')).toEqual({ answer: 'Transfer queued', to: 'steps' });
  });

  test.each([
    [
      'nobody',
      'desk',
      'biling',
      'unknown agent "biling"; agents are billing, shipping, steps; did you mean "billing"?',
    ],
    ['itself', 'desk', 'desk', 'unknown agent "desk"; agents are billing, shipping, steps'],
    ['one further down', 'desk', 'refunds', 'unknown agent "refunds"; agents are billing, shipping, steps'],
    ['one further up', 'refunds', 'desk', 'unknown agent "desk"; agents are billing'],
    ['one out of a workflow agent', 'first', 'last', 'unknown agent "last"; agents are helper'],
    ['nobody at all', 'last', 'first', 'unknown agent "first"; there is no other agent'],
  ])('%s is an error that names those it may be', async (_, from, to, error) => {
    const { answer } = await run(found(tree(), from), to);
    expect(String((answer as { error: string }).error).startsWith(error)).toBe(true);
  });

  test('agents that hand a turn to each other come to an end', async () => {
    expect(await run(tree(), 'billing', MOST_TRANSFERS - 1)).toMatchObject({ to: 'billing' });
    expect(await run(tree(), 'billing', MOST_TRANSFERS)).toEqual({
      answer: {
        error: 'this turn was transferred 32 times, and at most 32 transfers are allowed: answer it yourself',
      },
      to: undefined,
    });
  });
});

async function adkRequest(name: string): Promise<adk.LlmRequest> {
  const theirs = (each: string, subAgents: adk.BaseAgent[] = []) =>
    new adk.LlmAgent({ name: each, model: 'gemini-2.5-flash', description: `Knows ${each}.`, subAgents });
  const root = theirs('desk', [
    theirs('billing', [theirs('refunds')]),
    theirs('shipping'),
    new adk.SequentialAgent({
      name: 'steps',
      subAgents: [theirs('first', [theirs('helper')]), theirs('last')],
    }),
  ]);
  const agent = root.findAgent(name);
  const llmRequest = { contents: [], config: {}, toolsDict: {} } as unknown as adk.LlmRequest;
  const session = { id: 's1', appName: 'shop', userId: 'ada', state: {}, events: [], lastUpdateTime: 0 };
  const invocationContext = { agent, session, invocationId: 'e-2' } as unknown as adk.InvocationContext;
  for (const processor of (agent as adk.LlmAgent).requestProcessors) {
    const kind = processor.constructor.name;
    if (!/Identity|AgentTransfer/.test(kind)) continue;
    for await (const _ of processor.runAsync(invocationContext, llmRequest))
      throw new Error('yields nothing');
  }
  return llmRequest;
}
