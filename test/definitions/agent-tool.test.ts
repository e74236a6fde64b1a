import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type AgentRunEnd,
  AgentTool,
  type AgentToolConfig,
  agentResult,
  answerText,
  isAgentTool,
  requestText,
  SubAgentFailed,
} from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { agentOfTool } from '../../src/tools/base-tool.ts';
import { InvalidArgumentsError } from '../../src/tools/tool-error.ts';
import { StaticToolset } from '../../src/tools/toolsets.ts';
import { TurnRegistry } from '../../src/tools/turn-registry.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { refusal } from './refusal.ts';
import { emptyRequest } from './tool-context.ts';

const agentWith = (config: Partial<LlmAgentConfig> = {}) =>
  new LlmAgent({ name: 'expert', model: 'm', description: 'Knows it all.', ...config });
const city = z.object({ city: z.string(), days: z.number().default(1) });

describe('how it is called [agentTool.schema]', () => {
  test('name and description are those of the agent, and without a schema it takes a request', () => {
    const tool = new AgentTool({ agent: agentWith() });
    const theirs = new adk.AgentTool({
      agent: new adk.LlmAgent({ name: 'expert', model: 'gemini-2.5-flash', description: 'Knows it all.' }),
    })._getDeclaration();
    expect(tool._getDeclaration()).toEqual({
      name: theirs.name,
      description: theirs.description,
      parametersJsonSchema: {
        type: 'object',
        properties: { request: { type: 'string' } },
        required: theirs.parameters?.required,
      },
    });
  });

  test('schemas are those of the agent', () => {
    const agent = agentWith({ inputSchema: city, outputSchema: z.array(z.string()) });
    expect(new AgentTool({ agent })._getDeclaration()).toMatchObject({
      parametersJsonSchema: { type: 'object', required: ['city'] },
      responseJsonSchema: { type: 'object', properties: { result: { type: 'array' } }, required: ['result'] },
    });
    const steps = new SequentialAgent({ name: 'steps', subAgents: [agent] });
    expect(new AgentTool({ agent: steps })._getDeclaration()).toMatchObject({
      name: 'steps',
      parametersJsonSchema: { required: ['request'] },
    });
  });

  test('arguments are checked by the input schema, or must have a request', async () => {
    const tool = new AgentTool({ agent: agentWith({ inputSchema: city }) });
    expect(await tool.readArguments({ city: 'Oslo' })).toEqual({ city: 'Oslo', days: 1 });
    await expect(tool.readArguments({ city: 7 })).rejects.toThrow(InvalidArgumentsError);
    await expect(tool.readArguments({ city: 7 })).rejects.toThrow(
      "Error in tool 'expert': invalid arguments: city: ",
    );
    await expect(new AgentTool({ agent: agentWith() }).readArguments({})).rejects.toThrow(
      "missing required argument 'request' for agent expert",
    );
  });
});

describe('the message of its agent [agentTool.run]', () => {
  test.each<[string, BaseAgent, Record<string, unknown>, string]>([
    ['the request', agentWith(), { request: 'Why?' }, 'Why?'],
    ['what is no text', agentWith(), { request: 42 }, '42'],
    ['an object', agentWith(), { request: { a: 1 } }, '{"a":1}'],
    [
      'all arguments',
      agentWith({ inputSchema: city }),
      { city: 'Oslo', days: 2 },
      '{"city":"Oslo","days":2}',
    ],
  ])('is %s', (_, agent, args, text) => {
    expect(requestText(agent, args)).toBe(text);
  });

  test.each([[{}], [{ request: null }]])('%j is none', (args) => {
    expect(() => requestText(agentWith(), args)).toThrow(
      "missing required argument 'request' for agent expert",
    );
  });
});

describe('what it answers [agentTool.run] [agentTool.schema]', () => {
  const run = (end: AgentRunEnd, config: Partial<LlmAgentConfig> = {}) => agentResult(agentWith(config), end);

  test('the text, or nothing', async () => {
    expect(await run({ status: 'completed', text: 'Because.' })).toEqual({ result: 'Because.' });
    expect(await run({ status: 'completed', text: '' })).toEqual({});
    expect(await run({ status: 'completed' })).toEqual({});
  });

  test('the text is that of the parts, by lines, without thoughts', () => {
    const parts = [
      { text: 'One.' },
      { text: 'hm', thought: true },
      { functionCall: { name: 'x' } },
      { text: 'Two.' },
    ];
    expect(answerText({ role: 'model', parts })).toBe('One.\nTwo.');
    expect(answerText({ role: 'model', parts: [{ text: '' }] })).toBeUndefined();
    expect(answerText(undefined)).toBeUndefined();
  });

  test('what the output schema makes of it', async () => {
    const outputSchema = z.object({ sum: z.number(), unit: z.string().default('EUR') });
    expect(await run({ status: 'completed', text: '{"sum":5}' }, { outputSchema })).toEqual({
      sum: 5,
      unit: 'EUR',
    });
    expect(await run({ status: 'completed', text: '[1]' }, { outputSchema: z.array(z.number()) })).toEqual({
      result: [1],
    });
    await expect(run({ status: 'completed', text: 'five' }, { outputSchema })).rejects.toThrow(
      'error from sub-agent "expert" (code: "HOLDFAST_INVALID_RESULT", message: "its answer doesn\'t match its ' +
        'outputSchema: it is no JSON")',
    );
    await expect(run({ status: 'completed', text: '{}' }, { outputSchema })).rejects.toThrow(
      'outputSchema: sum',
    );
  });

  test.each<[AgentRunEnd, string]>([
    [
      { status: 'failed', error: { code: 'LLM_CALLS_LIMIT_EXCEEDED', message: 'too many "calls"' } },
      '(code: "LLM_CALLS_LIMIT_EXCEEDED", message: "too many \\"calls\\"")',
    ],
    [{ status: 'failed' }, '(code: "HOLDFAST_AGENT_FAILED", message: "it has failed")'],
    [{ status: 'interrupted' }, '(code: "HOLDFAST_AGENT_INTERRUPTED", message: "it was interrupted")'],
    [{ status: 'terminated' }, '(code: "HOLDFAST_AGENT_TERMINATED", message: "it was terminated")'],
    [
      { status: 'timed out' },
      '(code: "HOLDFAST_AGENT_TIMED_OUT", message: "it has taken longer than it may")',
    ],
  ])('%j is an error [agentTool.errors]', async (end, message) => {
    const failure = run(end);
    await expect(failure).rejects.toBeInstanceOf(SubAgentFailed);
    await expect(failure).rejects.toMatchObject({
      message: `error from sub-agent "expert" ${message}`,
      retryable: false,
    });
  });
});

describe('its options [agentTool.run]', () => {
  test('defaults', () => {
    const agent = agentWith();
    const tool = new AgentTool({ agent });
    expect(isAgentTool(tool)).toBe(true);
    expect(tool.agent).toBe(agent);
    expect(agentOfTool(tool)).toEqual({ agent, skipSummarization: false, attempts: 1 });
    expect(tool.gate).toBeUndefined();
  });

  test('what it is given', () => {
    const agent = agentWith();
    const tool = new AgentTool({
      agent,
      skipSummarization: true,
      timeout: '10 minutes',
      attempts: 3,
      budget: { modelCalls: 5, time: '1m' },
      taskQueue: 'gpu',
      requireConfirmation: true,
      isConcurrencySafe: false,
    });
    expect(agentOfTool(tool)).toEqual({
      agent,
      skipSummarization: true,
      timeout: 600_000,
      attempts: 3,
      budget: { modelCalls: 5, time: 60_000 },
      taskQueue: 'gpu',
    });
    expect(tool).toMatchObject({
      gate: { confirmation: { when: 'always' } },
      durable: { isConcurrencySafe: false, onUnknownOutcome: 'retry' },
    });
  });

  test.each<[string, object | undefined, string]>([
    ['nothing', undefined, 'AgentTool: expected an object, got undefined'],
    ['no agent', {}, 'AgentTool: agent: expected an agent, got undefined'],
    [
      "ADK's agent",
      { agent: new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash' }) },
      `AgentTool: agent: an agent of @google/adk; import its class from 'holdfast' instead`,
    ],
    ['a typo', { agent: agentWith(), timeot: 5 }, 'AgentTool "expert": timeot: unknown option'],
    [
      'a job',
      { agent: agentWith(), isLongRunning: true },
      'AgentTool "expert": isLongRunning: unknown option',
    ],
    [
      'no attempts',
      { agent: agentWith(), attempts: 0 },
      'AgentTool "expert": attempts: expected a whole number',
    ],
    [
      'a budget',
      { agent: agentWith(), budget: { cost: 0 } },
      'AgentTool "expert": budget.cost: expected a number',
    ],
    ['a queue', { agent: agentWith(), taskQueue: '' }, 'AgentTool "expert": taskQueue: must not be empty'],
    [
      'input that is no object',
      { agent: agentWith({ inputSchema: z.string() }) },
      'AgentTool "expert": agent: its inputSchema must be that of an object',
    ],
  ])('refuses %s [define.refuse]', (_, config, message) => {
    expect(refusal(() => new AgentTool(config as AgentToolConfig)).message).toContain(message);
  });

  test('one that runs by itself is refused: nobody would call it [define.refuse]', () => {
    class Own extends AgentTool {
      override async runAsync() {
        return 'mine';
      }
    }
    expect(refusal(() => new Own({ agent: agentWith() })).message).toBe(
      'Own "expert": runAsync: would never be called: the workflow runs the agent',
    );
  });

  test('by hand it does not run', async () => {
    await expect(new AgentTool({ agent: agentWith() }).runAsync()).rejects.toThrow(
      'the agent "expert" is run by the workflow of a turn, and not by hand: put its AgentTool into an agent\'s tools',
    );
  });
});

describe('found wherever tools come from [agentTool.run]', () => {
  test('behind a gate of a toolset it runs its agent, once for each approval', async () => {
    const agent = agentWith();
    const tools = [new AgentTool({ agent, attempts: 3, timeout: 5_000 })];
    const [tool] = await withConfirmation(new StaticToolset(tools, { name: 'experts' }), true).getTools();
    expect(tool && agentOfTool(tool)).toEqual({
      agent,
      attempts: 1,
      timeout: 5_000,
      skipSummarization: false,
    });
    expect(tool).toMatchObject({ gate: { confirmation: {} }, durable: { onUnknownOutcome: 'retry' } });
  });

  test('added to a turn, it must not need more than its activities can carry', () => {
    const factories = new Map([['expert', () => new AgentTool({ agent: agentWith() })]]);
    const registry = new TurnRegistry({ request: emptyRequest(), factories });
    expect(agentOfTool(registry.add('expert', { topic: 'x' }))?.agent.name).toBe('expert');
    expect(
      refusal(() =>
        new TurnRegistry({ request: emptyRequest(), factories }).add('expert', { topic: 'x'.repeat(1_020) }),
      ).message,
    ).toContain('the tool "expert" runs an agent: its arguments may have 1024 bytes');
  });
});
