import { once } from 'node:events';
import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { AGENT_TRANSFER_LLM_REQUEST_PROCESSOR } from '../../src/agents/agent-transfer.ts';
import { BaseAgent, isBaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent, LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { DEFAULT_REQUEST_PROCESSORS } from '../../src/agents/processors/request-processors.ts';
import { LoopAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import { BaseCodeExecutor } from '../../src/code-executors/base-code-executor.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import { BuiltInPlanner } from '../../src/planners/planners.ts';
import { InMemoryRunner } from '../../src/runner/in-memory-runner.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { refusal } from './refusal.ts';

const named = (name: string) => tool({ name, description: '', execute: () => 1 });

class Model extends BaseLlm {
  override async *generateContentAsync() {}
}

class Shelves extends BaseToolset {
  override async getTools() {
    return [named('shelf')];
  }
  override async close() {}
}
const shelves = new Shelves();

class Sandbox extends BaseCodeExecutor {
  override async executeCode() {
    return { stdout: '', stderr: '', outputFiles: [] };
  }
}

class Group extends BaseAgent {
  constructor(name: string, subAgents: BaseAgent[] = []) {
    super({ name, subAgents });
  }

  protected override async *runAsyncImpl(context: InvocationContext) {
    for (const subAgent of this.subAgents) yield* subAgent.runAsync(context);
  }
}

describe('LlmAgent [agent.define]', () => {
  test('defaults', () => {
    const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });
    expect(agent).toMatchObject({
      name: 'support',
      description: '',
      model: 'gemini-2.5-flash',
      instruction: '',
      tools: [],
      generateContentConfig: {},
      subAgents: [],
      durable: {
        modelTimeout: 600_000,
        modelRetry: {
          maximumAttempts: 3,
          initialInterval: 1_000,
          maximumInterval: 30_000,
          backoffCoefficient: 2,
        },
        maxParallelCalls: 32,
        sensitive: false,
      },
    });
    expect(agent.outputKey).toBeUndefined();
    expect(agent.rootAgent).toBe(agent);
    expect(agent.parentAgent).toBeUndefined();
  });

  test('keeps what it is given', () => {
    const model = new Model({ model: 'm' });
    const instruction = () => 'x';
    const tools = [named('a'), named('b')];
    const agent = new LlmAgent({
      name: 'support',
      description: 'd',
      model,
      instruction,
      tools,
      generateContentConfig: { temperature: 0.2 },
      outputKey: 'user:answer',
      modelTimeout: '1m',
      modelRetry: { maximumAttempts: 5 },
      maxParallelCalls: 1,
      sensitive: true,
    });
    expect(agent).toMatchObject({
      description: 'd',
      outputKey: 'user:answer',
      generateContentConfig: { temperature: 0.2 },
      durable: {
        modelTimeout: 60_000,
        modelRetry: { maximumAttempts: 5 },
        maxParallelCalls: 1,
        sensitive: true,
      },
    });
    expect(agent.model).toBe(model);
    expect(agent.instruction).toBe(instruction);
    tools.push(named('a'));
    expect(agent.tools.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test.each<[string, object, string]>([
    ['nothing', undefined as never, 'LlmAgent: expected an object, got undefined'],
    ['no name', { model: 'm' }, 'LlmAgent: name: required'],
    ['no text', { name: 5 }, 'LlmAgent: name: expected a string, got number'],
    ['no identifier', { name: 'my agent' }, 'LlmAgent: name: Agent name must be a valid identifier.'],
    ['an identifier that is said', { name: 'a b' }, 'underscores, and hyphens, got "a b"'],
    ['digits first', { name: '1st' }, 'LlmAgent: name: Agent name must be a valid identifier.'],
    ['user', { name: 'user' }, `LlmAgent: name: Agent name cannot be 'user'.`],
    ['a long name', { name: 'x'.repeat(129) }, 'LlmAgent: name: must have at most 128 characters, has 129'],
    ['description', { description: 1 }, 'LlmAgent "support": description: expected a string, got number'],
    ['empty model', { model: ' ' }, 'LlmAgent "support": model: must not be empty'],
    [
      'odd model',
      { model: {} },
      'LlmAgent "support": model: expected the name of a model or a BaseLlm, got object',
    ],
    ['instruction', { instruction: 1 }, 'LlmAgent "support": instruction: expected a string or a function'],
    ['no list', { tools: named('a') }, 'LlmAgent "support": tools: expected a list of tools, got object'],
    [
      'no tool',
      { tools: [named('a'), () => 1] },
      'LlmAgent "support": tools[1]: expected a tool, got function',
    ],
    ['a hole', { tools: Array(1) }, 'LlmAgent "support": tools[0]: expected a tool, got undefined'],
    [
      'options',
      { tools: [{ name: 'a', description: '', execute: () => 1 }] },
      'LlmAgent "support": tools[0]: options of a tool; write tool({…}) or new FunctionTool({…})',
    ],
    [
      "ADK's tool",
      { tools: [new adk.FunctionTool({ name: 'a', description: '', execute: () => 1 })] },
      `LlmAgent "support": tools[0]: a tool of @google/adk; import its class from 'holdfast' instead`,
    ],
    [
      'two of a name',
      { tools: [named('a'), named('b'), named('a')] },
      'LlmAgent "support": tools[2]: duplicate tool: "a", which is tools[0] too',
    ],
    [
      'config',
      { generateContentConfig: 1 },
      'LlmAgent "support": generateContentConfig: expected an object, got number',
    ],
    [
      'tools in the config',
      { generateContentConfig: { tools: [] } },
      'LlmAgent "support": generateContentConfig.tools: All tools must be set via LlmAgent.tools.',
    ],
    [
      'instruction in the config',
      { generateContentConfig: { systemInstruction: 'x' } },
      'LlmAgent "support": generateContentConfig.systemInstruction: System instruction must be set via LlmAgent.instruction.',
    ],
    [
      'schema in the config',
      { generateContentConfig: { responseSchema: {} } },
      'LlmAgent "support": generateContentConfig.responseSchema: Response schema must be set via LlmAgent.outputSchema.',
    ],
    [
      'schema in the config',
      { generateContentConfig: { responseJsonSchema: {} } },
      'generateContentConfig.responseJsonSchema:',
    ],
    [
      'signal',
      { generateContentConfig: { abortSignal: AbortSignal.abort() } },
      'generateContentConfig.abortSignal:',
    ],
    [
      'calling',
      { generateContentConfig: { automaticFunctionCalling: {} } },
      'generateContentConfig.automaticFunctionCalling:',
    ],
    ['key', { outputKey: '' }, 'LlmAgent "support": outputKey: must not be empty'],
    [
      'retry',
      { modelRetry: { initialInterval: 'x' } },
      'LlmAgent "support": modelRetry.initialInterval: expected milliseconds',
    ],
    [
      'typo',
      { instructions: 'x' },
      'LlmAgent "support": instructions: unknown option; did you mean "instruction"?',
    ],
    [
      'later',
      { timeout: 5 },
      'LlmAgent "support": timeout: an option of ADK that this release of Holdfast does not have',
    ],
    [
      'callback',
      { beforeAgentCallback: {} },
      'LlmAgent "support": beforeAgentCallback: expected a function or a list of functions, got object',
    ],
    [
      'callback',
      { afterModelCallback: [() => undefined, 1] },
      'LlmAgent "support": afterModelCallback[1]: expected a function, got number',
    ],
    [
      'callback',
      { onToolErrorCallback: Array(1) },
      'LlmAgent "support": onToolErrorCallback[0]: expected a function, got undefined',
    ],
    [
      'global instruction',
      { globalInstruction: 1 },
      'LlmAgent "support": globalInstruction: expected a string or a function of the context, got number',
    ],
    [
      'static instruction',
      { staticInstruction: ['a', 1] },
      'LlmAgent "support": staticInstruction: expected a text, a Content, or parts, got a list with number',
    ],
    [
      'contents',
      { includeContents: 'all' },
      `LlmAgent "support": includeContents: expected 'default' or 'none'`,
    ],
    [
      'output schema',
      { outputSchema: 1 },
      'LlmAgent "support": outputSchema: expected a schema (zod 4, zod 3, JSON Schema, or the Schema of',
    ],
    [
      'output schema',
      { outputSchema: { type: 'OBJECT', properties: { a: { type: 'TEXT' } } } },
      'LlmAgent "support": outputSchema.properties.a.type: ',
    ],
    [
      'input schema',
      { inputSchema: { a: z.string() } },
      'LlmAgent "support": inputSchema: an object of zod schemas is no schema; wrap it: z.object({…})',
    ],
    ['processors', { requestProcessors: {} }, 'LlmAgent "support": requestProcessors: expected a list'],
    [
      'processors',
      { responseProcessors: [{ run: 1 }] },
      'LlmAgent "support": responseProcessors[0]: expected a processor (an object with runAsync), got object',
    ],
    ['planner', { planner: {} }, 'LlmAgent "support": planner: expected a BasePlanner'],
    [
      'executor',
      { codeExecutor: {} },
      'LlmAgent "support": codeExecutor: expected a BaseCodeExecutor, got object',
    ],
    [
      'a toolset twice',
      { tools: [shelves, named('a'), shelves] },
      'LlmAgent "support": tools[2]: the same toolset as tools[0], so each of its tools would be there twice',
    ],
    [
      "ADK's toolset",
      { tools: [new adk.MCPToolset({ type: 'StdioConnectionParams', serverParams: { command: 'x' } })] },
      'LlmAgent "support": tools[0]: a toolset of @google/adk',
    ],
    [
      "the schema's tool",
      { outputSchema: { type: 'object' }, tools: [named('set_model_response')] },
      'tools[0]: duplicate tool: "set_model_response", which is the tool that answers by the outputSchema too',
    ],
    [
      "the executor's name",
      { codeExecutor: new Sandbox(), tools: [named('Sandbox')] },
      'tools[0]: duplicate tool: "Sandbox", which is the codeExecutor too',
    ],
  ])('refuses %s: %j [define.refuse]', (_, config, message) => {
    const whole = config === undefined ? config : { name: 'support', model: 'm', ...config };
    if (config !== undefined && 'model' in config && message === 'LlmAgent: name: required') {
      expect(refusal(() => new LlmAgent(config as LlmAgentConfig)).message).toContain(message);
      return;
    }
    expect(refusal(() => new LlmAgent(whole as LlmAgentConfig)).message).toContain(message);
  });

  describe('without a model [agent.model]', () => {
    const model = new Model({ model: 'gemini-2.5-pro' });
    const helper = (name = 'helper') => new LlmAgent({ name });

    test('has that of the nearest LlmAgent above, whatever is between, as in ADK', () => {
      const [own, deep, deeper] = [
        new LlmAgent({ name: 'own', model: 'gemini-2.5-flash' }),
        helper(),
        helper('deeper'),
      ];
      const below = new LlmAgent({ name: 'below', subAgents: [deeper] });
      const steps = new SequentialAgent({
        name: 'steps',
        subAgents: [new LoopAgent({ name: 'rounds', subAgents: [deep] }), below, own],
      });
      const root = new LlmAgent({ name: 'root', model, subAgents: [steps] });
      for (const each of [root, deep, below, deeper]) expect(each.canonicalModel).toBe(model);
      expect(own.canonicalModel.model).toBe('gemini-2.5-flash');
      expect(deep.model).toBeUndefined();
      expect(new App({ name: 'shop', rootAgent: root }).rootAgent).toBe(root);
    });

    test('a clone has that of its own tree', () => {
      const first = helper();
      const second = first.clone();
      const other = new Model({ model: 'gemini-2.5-pro' });
      new LlmAgent({ name: 'one', model, subAgents: [first] });
      new LlmAgent({ name: 'other', model: other, subAgents: [second] });
      expect([first.canonicalModel, second.canonicalModel]).toEqual([model, other]);
      expect(second.canonicalModel).toBe(other);
    });

    const missing = (name: string) => `LlmAgent "${name}": model: required: the name of a model`;
    const calling = (agent: LlmAgent) =>
      new LlmAgent({ name: 'caller', model, tools: [new AgentTool({ agent })] });

    test.each<[string, () => LlmAgent | SequentialAgent]>([
      ['a root agent', () => helper()],
      [
        'an agent below agents that ask no model',
        () => new SequentialAgent({ name: 'steps', subAgents: [helper()] }),
      ],
      ["the agent of a tool, which isn't below its caller", () => calling(helper())],
    ])('of %s is refused where the app is made, by the name of the agent', (_, build) => {
      const rootAgent = build();
      for (const make of [
        () => new App({ name: 'shop', rootAgent }),
        () => new InMemoryRunner({ agent: rootAgent }),
      ]) {
        expect(refusal(make).message).toContain(missing('helper'));
      }
    });

    test('the agent of a tool that is a sub-agent elsewhere has the model of that tree; one whose workers are elsewhere needs none', () => {
      const shared = helper();
      new LlmAgent({ name: 'owner', model, subAgents: [shared] });
      expect(new App({ name: 'shop', rootAgent: calling(shared) }).name).toBe('shop');
      const away = new AgentTool({ agent: helper(), taskQueue: 'gpu' });
      const rootAgent = new LlmAgent({ name: 'caller', model, tools: [away] });
      expect(new App({ name: 'shop', rootAgent }).name).toBe('shop');
    });
  });

  test('callbacks are lists, in order, whether one or several were given [callback.order]', () => {
    const [one, other] = [() => undefined, async () => undefined];
    const agent = new LlmAgent({
      name: 'support',
      model: 'm',
      beforeAgentCallback: one,
      afterAgentCallback: [one, other],
      beforeModelCallback: one,
      afterModelCallback: [other, one],
      onModelErrorCallback: [],
      beforeToolCallback: [one],
      afterToolCallback: other,
      onToolErrorCallback: one,
    });
    expect(agent.canonicalBeforeAgentCallbacks).toEqual([one]);
    expect(agent.canonicalAfterAgentCallbacks).toEqual([one, other]);
    expect(agent.canonicalBeforeModelCallbacks).toEqual([one]);
    expect(agent.canonicalAfterModelCallbacks).toEqual([other, one]);
    expect(agent.canonicalOnModelErrorCallbacks).toEqual([]);
    expect(agent.canonicalBeforeToolCallbacks).toEqual([one]);
    expect(agent.canonicalAfterToolCallbacks).toEqual([other]);
    expect(agent.canonicalOnToolErrorCallbacks).toEqual([one]);
    expect(new Group('g').canonicalBeforeAgentCallbacks).toEqual([]);
  });

  test('an answer by a schema can be transferred nowhere, and is validated [agent.outputSchema]', async () => {
    const outputSchema = z.object({ city: z.string(), days: z.coerce.number().default(3) });
    const agent = new LlmAgent({
      name: 'support',
      model: 'm',
      outputSchema,
      disallowTransferToParent: false,
    });
    expect(agent).toMatchObject({ disallowTransferToParent: true, disallowTransferToPeers: true });
    expect(agent.outputSchema).toBe(outputSchema);
    expect(agent.outputJsonSchema).toMatchObject({ type: 'object', required: ['city'] });
    expect(await agent.validateOutput({ city: 'Rome' })).toEqual({ city: 'Rome', days: 3 });
    await expect(agent.validateOutput({ days: 2 })).rejects.toMatchObject({
      code: 'HOLDFAST_SCHEMA_MISMATCH',
      retryable: false,
      message: 'city: required',
    });
    const plain = new LlmAgent({ name: 'support', model: 'm' });
    expect(plain).toMatchObject({ disallowTransferToParent: false, disallowTransferToPeers: false });
    expect(await plain.validateOutput(5)).toBe(5);
  });

  test.each([
    ['zod', z.object({ city: z.string() })],
    ['JSON Schema', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }],
    [
      'the Schema of the provider',
      { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
    ],
  ])('the input of an agent is checked by %s [agent.inputSchema]', async (_, inputSchema) => {
    const agent = new LlmAgent({ name: 'support', model: 'm', inputSchema });
    expect(agent.inputJsonSchema).toMatchObject({ type: 'object', required: ['city'] });
    expect(await agent.validateInput({ city: 'Rome' })).toEqual({ city: 'Rome' });
    await expect(agent.validateInput({})).rejects.toThrow('city: required');
  });

  test('the tools of an agent are its own and those of its toolsets [toolset.resolve]', async () => {
    const agent = new LlmAgent({ name: 'support', model: 'm', tools: [named('a'), shelves, named('b')] });
    expect((await agent.canonicalTools()).map(({ name }) => name)).toEqual(['a', 'shelf', 'b']);
  });

  test('processors are the defaults, or what is given in their place [request.processors]', () => {
    const agent = new LlmAgent({ name: 'support', model: 'm' });
    expect(agent.requestProcessors).toEqual([
      ...DEFAULT_REQUEST_PROCESSORS,
      AGENT_TRANSFER_LLM_REQUEST_PROCESSOR,
    ]);
    expect(agent.responseProcessors).toEqual([]);
    const alone = { disallowTransferToParent: true, disallowTransferToPeers: true };
    const none = new LlmAgent({ name: 'support', model: 'm', requestProcessors: [], ...alone });
    expect(none.requestProcessors).toEqual([]);
    const parent = none.clone({ name: 'parent', subAgents: [none] });
    expect(parent.requestProcessors).toEqual([AGENT_TRANSFER_LLM_REQUEST_PROCESSOR]);
  });

  test('iterations are bounded where the agent says so [agent.maxIterations]', () => {
    expect(new LlmAgent({ name: 'support', model: 'm' }).durable).not.toHaveProperty('maxIterations');
    expect(new LlmAgent({ name: 'support', model: 'm', maxIterations: 4 }).durable.maxIterations).toBe(4);
  });

  test('of two thinking configs that of the planner wins, with a warning [agent.planner]', async () => {
    const warned = once(process, 'warning');
    new LlmAgent({
      name: 'support',
      model: 'm',
      planner: new BuiltInPlanner({ thinkingConfig: { thinkingBudget: 0 } }),
      generateContentConfig: { thinkingConfig: { thinkingBudget: 5 } },
    });
    const [warning] = await warned;
    expect(warning).toMatchObject({
      message:
        'LlmAgent "support": generateContentConfig.thinkingConfig has no effect: that of the planner wins',
    });
  });

  test('names that ADK takes', () => {
    for (const name of ['a', '_x', '$x', 'über-agent', 'Agent2']) expect(new Group(name).name).toBe(name);
  });

  test('is known across copies of the package', () => {
    const copy = { [Symbol.for('holdfast.baseAgent')]: true, [Symbol.for('holdfast.llmAgent')]: true };
    expect(isBaseAgent(copy) && isLlmAgent(copy)).toBe(true);
    expect(isLlmAgent(new Group('g'))).toBe(false);
    expect([null, 1, {}].some(isBaseAgent)).toBe(false);
  });
});

describe('the tree of agents [agent.names]', () => {
  test('parents, roots, names', () => {
    const leaf = new Group('leaf');
    const middle = new Group('middle', [leaf]);
    const root = new Group('root', [middle, new Group('other')]);
    expect(leaf.parentAgent).toBe(middle);
    expect(leaf.rootAgent).toBe(root);
    expect(root.findAgent('leaf')).toBe(leaf);
    expect(root.findAgent('root')).toBe(root);
    expect(root.findSubAgent('root')).toBeUndefined();
    expect(middle.findAgent('other')).toBeUndefined();
  });

  test('an agent has one parent', () => {
    const leaf = new Group('leaf');
    new Group('one', [leaf]);
    expect(refusal(() => new Group('two', [leaf])).message).toBe(
      'Group "two": subAgents[0]: Agent "leaf" already has a parent agent, current parent: "one", trying to add: "two"',
    );
  });

  test.each([
    ['of the parent', () => new Group('a', [new Group('a')])],
    ['of a sibling', () => new Group('a', [new Group('b'), new Group('b')])],
    ['further down', () => new Group('a', [new Group('b', [new Group('c')]), new Group('c')])],
  ])('a name %s is refused, and the refused agents stay free', (_, make) => {
    expect(refusal(make).message).toMatch(/subAgents\[\d\]: duplicate agent name/);
  });

  test('a refused parent takes no agents', () => {
    const free = new Group('free');
    refusal(() => new Group('a', [free, new Group('a')]));
    expect(free.parentAgent).toBeUndefined();
    expect(new Group('b', [free]).subAgents).toEqual([free]);
  });

  test('what is no agent is refused', () => {
    expect(refusal(() => new Group('a', [{} as BaseAgent])).message).toBe(
      'Group "a": subAgents[0]: expected an agent, got object',
    );
  });
});
