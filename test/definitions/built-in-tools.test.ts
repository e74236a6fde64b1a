import * as adk from '@google/adk';
import type { Tool } from '@google/genai';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TransferToTool, transferToAgentTool } from '../../src/agents/agent-transfer.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createEventActions, type ToolConfirmation } from '../../src/events/event-actions.ts';
import { BaseTool, type ToolProcessLlmRequest } from '../../src/tools/base-tool.ts';
import { approvalTool } from '../../src/tools/built-in/approval-tool.ts';
import {
  CODE_EXECUTION,
  ENTERPRISE_WEB_SEARCH,
  GeminiTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  URL_CONTEXT,
  VertexRagRetrievalTool,
} from '../../src/tools/built-in/gemini-tools.ts';
import { ESCALATE, EXIT_LOOP } from '../../src/tools/built-in/loop-control-tools.ts';
import { getUserChoiceTool, requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import { VertexAiSearchTool } from '../../src/tools/built-in/vertex-ai-search-tool.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { type Context, questionsOf } from '../../src/tools/context.ts';
import { approvalTermsOf, questionOf } from '../../src/tools/tool-gate.ts';
import { refusal } from './refusal.ts';
import { callOf, contextWith, emptyRequest } from './tool-context.ts';

const run = (tool: BaseTool, args: Record<string, unknown> = {}, toolContext: Context = contextWith()) =>
  tool.runAsync({ args, toolContext });

describe('control [builtin.exitLoop] [builtin.control]', () => {
  test('exit_loop escalates, and skips the summary', async () => {
    const context = contextWith();
    expect(await run(EXIT_LOOP, {}, context)).toBe('');
    expect(context.actions).toEqual({ ...createEventActions(), escalate: true, skipSummarization: true });
    expect(EXIT_LOOP._getDeclaration()).toEqual(adk.EXIT_LOOP._getDeclaration());
  });

  test('escalate does so with a reason', async () => {
    const context = contextWith();
    expect(await run(ESCALATE, { reason: 'no such order' }, context)).toEqual({
      status: 'escalated',
      reason: 'no such order',
    });
    expect(context.actions).toMatchObject({ escalate: true, skipSummarization: true });
    await expect(run(ESCALATE)).rejects.toThrow('mandatory input parameters are not present:\nreason');
  });
});

describe('transfer [builtin.control]', () => {
  const model = 'gemini-2.5-flash';
  const billing = new LlmAgent({ name: 'billing', model });
  const shipping = new LlmAgent({ name: 'shipping', model });
  const root = new LlmAgent({ name: 'support', model, subAgents: [billing, shipping] });
  const inTree = (agent: BaseAgent = root) => contextWith({ agent });

  test.each([
    ['support', { agentName: 'billing' }, 'billing'],
    ['support', { agent_name: 'billing' }, 'billing'],
    ['billing', { agentName: 'shipping' }, 'shipping'],
    ['billing', { agentName: 'support' }, 'support'],
  ])('from %s by %j', async (from, args, target) => {
    const context = inTree(root.findAgent(from));
    expect(await run(transferToAgentTool, args, context)).toBe('Transfer queued');
    expect(context.actions).toEqual({ ...createEventActions(), transferToAgent: target });
  });

  test('an agent that there is not is an error that the model can recover from', async () => {
    const context = inTree();
    expect(await run(transferToAgentTool, { agentName: 'biling' }, context)).toEqual({
      error: 'unknown agent "biling"; agents are billing, shipping; did you mean "billing"?',
    });
    expect(context.actions).toEqual(createEventActions());
    expect(await run(transferToAgentTool, { agentName: 'billing' })).toEqual({
      error: 'unknown agent "billing"; there is no other agent',
    });
  });

  test.each([[{}], [{ agentName: 7 }], [{ agentName: '' }]])('%j names none', async (args) => {
    await expect(run(transferToAgentTool, args, inTree())).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_ARGUMENTS',
      message: "Error in tool 'transfer_to_agent': agentName must be the name of an agent",
    });
  });

  test('to one agent, by a tool of its own', async () => {
    const tool = new TransferToTool('billing', 'Knows invoices.');
    expect(tool._getDeclaration()).toMatchObject({
      name: 'transfer_to_billing',
      description: 'Knows invoices.',
    });
    const context = inTree();
    expect(await run(tool, { request: 'refund it' }, context)).toBe('Transfer queued');
    expect(context.actions.transferToAgent).toBe('billing');
    expect(await run(new TransferToTool('nobody'), { request: 'x' }, inTree())).toMatchObject({
      error: expect.stringContaining('unknown agent "nobody"'),
    });
    expect(refusal(() => new TransferToTool('not an agent')).message).toContain('Agent name must be a valid');
  });
});

describe('questions to the user [builtin.ask]', () => {
  test.each([
    [getUserChoiceTool, adk.getUserChoiceTool],
    [requestInputTool, adk.requestInputTool],
  ])('are declared as in ADK', (tool, theirs) => {
    const { name, description } = theirs._getDeclaration();
    expect(tool._getDeclaration()).toMatchObject({ name, description });
    expect(tool.isLongRunning).toBe(true);
  });

  test.each<[BaseTool, Record<string, unknown>]>([
    [getUserChoiceTool, { options: ['a', 'b'] }],
    [requestInputTool, { message: 'Name?' }],
  ])('fail closed where there is no call that could wait', async (tool, args) => {
    await expect(run(tool, args)).rejects.toMatchObject({ code: 'HOLDFAST_NO_CALL', retryable: false });
  });

  test('take the arguments that ADK’s take', () => {
    expect(getUserChoiceTool.describe().inputSchema).toMatchObject({
      properties: { options: { type: 'array', items: { type: 'string' } } },
      required: ['options'],
    });
    expect(requestInputTool.describe().inputSchema).toMatchObject({
      properties: { message: { type: 'string' }, response_schema: { type: 'object' } },
      required: ['message'],
    });
  });
});

const answeredWith = (...inputs: unknown[]) =>
  contextWith({ call: callOf({ questions: new CallQuestions({ inputs }) }) });
/** What a call of the tool asks, and what comes of it. */
const asked = async (tool: BaseTool, args: Record<string, unknown>, toolContext = answeredWith()) => {
  const result = await run(tool, args, toolContext).catch((error: unknown) => error);
  return { result, asked: questionsOf(toolContext).asked };
};

describe('adk_request_input [input.request]', () => {
  test("asks the model's question, with the model's schema", async () => {
    const schema = { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] };
    const question = { message: 'Where to?', response_schema: schema };
    expect(await asked(requestInputTool, question)).toMatchObject({
      asked: { kind: 'input', message: 'Where to?', responseSchema: schema },
    });
    const answer = { street: 'Ringstraße' };
    expect(await run(requestInputTool, question, answeredWith(answer))).toEqual(answer);
    expect(await run(requestInputTool, { message: 'Name?' }, answeredWith('Ada'))).toEqual({
      result: 'Ada',
    });
    expect(await run(requestInputTool, { message: 'Name?' }, answeredWith(null))).toEqual({ result: null });
  });

  test('tells the model of a schema that is none, at once', async () => {
    const { result, asked: question } = await asked(requestInputTool, {
      message: '?',
      response_schema: { type: 'nonsense' },
    });
    expect(result).toMatchObject({
      code: 'HOLDFAST_INVALID_ARGUMENTS',
      retryable: false,
      message: expect.stringContaining('response_schema is no JSON Schema'),
    });
    expect(question).toBeUndefined();
  });
});

describe('get_user_choice [input.choice]', () => {
  test('lets a person choose what is offered, and nothing else', async () => {
    expect(await asked(getUserChoiceTool, { options: ['red', 'blue', 'red'] })).toMatchObject({
      asked: {
        kind: 'input',
        message: 'Please choose one of the options.',
        responseSchema: { type: 'string', enum: ['red', 'blue'] },
        payload: { options: ['red', 'blue'] },
      },
    });
    const choose = (choice: unknown) =>
      run(getUserChoiceTool, { options: ['red', 'blue'] }, answeredWith(choice));
    expect(await choose('blue')).toEqual({ result: 'blue' });
    await expect(choose('green')).rejects.toMatchObject({ code: 'HOLDFAST_INPUT_MISMATCH' });
  });

  test('nothing to choose from is an error', async () => {
    const { result, asked: question } = await asked(getUserChoiceTool, { options: [] });
    expect(result).toMatchObject({
      retryable: false,
      message: "Error in tool 'get_user_choice': there is nothing to choose from: give at least one option",
    });
    expect(question).toBeUndefined();
  });
});

describe('an approval tool [confirm.approval]', () => {
  const args = { action: 'drop the "orders" table', reason: 'it is old' };

  test('waits for an approval of each call, by the same gate as any tool', async () => {
    const ask = approvalTool({ approval: { approvers: ['mira'], expiresIn: '2 hours' } });
    expect(ask.name).toBe('request_approval');
    expect(ask.gate).toMatchObject({ confirmation: { when: 'always', by: 'flag' } });
    expect(approvalTermsOf(ask)).toEqual({ approvers: ['mira'], expiresIn: 7_200_000 });
    expect(ask.durable).toMatchObject({ onUnknownOutcome: 'fail', retry: { maximumAttempts: 1 } });
    expect(await questionOf(ask, args, contextWith())).toEqual({
      hint:
        'An agent asks for an approval. The action, in its words: "drop the \\"orders\\" table". ' +
        'The reason, in its words: "it is old".',
    });
  });

  test('tells the model that it was approved, and what the person has added', async () => {
    const ask = approvalTool();
    const runs = (toolConfirmation: ToolConfirmation) =>
      run(
        ask,
        args,
        contextWith({
          call: callOf({ questions: new CallQuestions({ passed: ask.gate }) }),
          toolConfirmation,
        }),
      );
    const { action } = args;
    expect(await runs({ hint: '', confirmed: true })).toEqual({ status: 'approved', action });
    expect(await runs({ hint: '', confirmed: true, payload: { until: 'May' } })).toEqual({
      status: 'approved',
      action,
      payload: { until: 'May' },
    });
  });

  test('asks the model for what people need to know', () => {
    const ask = approvalTool({
      name: 'ask_mira',
      description: 'Asks Mira.',
      requiredFields: ['ticket', 'reason'],
    });
    expect(ask._getDeclaration()).toMatchObject({
      name: 'ask_mira',
      description: 'Asks Mira.',
      parametersJsonSchema: {
        properties: {
          action: { type: 'string' },
          reason: { type: 'string', description: 'Why approval is needed' },
          details: { type: 'object' },
          ticket: { type: 'string' },
        },
        required: ['action', 'reason', 'ticket'],
      },
    });
  });

  test('a long action is cut in the question', async () => {
    const question = await questionOf(
      approvalTool(),
      { action: 'x'.repeat(5_000), reason: 'r' },
      contextWith(),
    );
    expect(question?.hint.length).toBeLessThan(700);
  });

  test.each<[object, string]>([
    [{ requiredFields: 'ticket' }, 'approvalTool: requiredFields: expected a list of names, got string'],
    [{ aproval: {} }, 'approvalTool: aproval: unknown option; did you mean "approval"?'],
    [{ name: 'holdfast.x' }, 'FunctionTool: name: must not start with "holdfast."'],
    [
      { approval: { approvers: [] } },
      'FunctionTool "request_approval": approval.approvers: the list is empty',
    ],
  ])('refuses %j', (options, message) => {
    expect(refusal(() => approvalTool(options)).message).toContain(message);
  });
});

const OF_ADK = [
  [GOOGLE_SEARCH, adk.GOOGLE_SEARCH],
  [URL_CONTEXT, adk.URL_CONTEXT],
  [ENTERPRISE_WEB_SEARCH, adk.ENTERPRISE_WEB_SEARCH],
  [GOOGLE_MAPS_GROUNDING, adk.GOOGLE_MAPS_GROUNDING],
  [new VertexAiSearchTool({ dataStoreId: 'd' }), new adk.VertexAiSearchTool({ dataStoreId: 'd' })],
  [
    new VertexAiSearchTool({
      searchEngineId: 'e',
      dataStoreSpecs: [{ dataStore: 'd' }],
      filter: 'f',
      maxResults: 3,
    }),
    new adk.VertexAiSearchTool({
      searchEngineId: 'e',
      dataStoreSpecs: [{ dataStore: 'd' }],
      filter: 'f',
      maxResults: 3,
    }),
  ],
  [new VertexRagRetrievalTool({ ragCorpora: ['c'] }), new adk.VertexRagRetrievalTool({ ragCorpora: ['c'] })],
] as const;

const MODELS = [
  'gemini-1.5-flash',
  'gemini-2.5-flash',
  'gemini-3-pro-preview',
  'gemini-flash-latest',
  'projects/p/locations/eu/publishers/google/models/gemini-2.0-flash',
  'projects/p/locations/eu/publishers/google/models/other',
  'claude-4',
  undefined,
];

test('what is done to a request is not done to the tool [builtin.gemini]', async () => {
  const rag = new VertexRagRetrievalTool({ ragCorpora: ['c'] });
  const search = new VertexAiSearchTool({ searchEngineId: 'e', dataStoreSpecs: [{ dataStore: 'd' }] });
  const configured = async () => {
    const llmRequest = emptyRequest();
    for (const each of [rag, search]) {
      await each.processLlmRequest({ toolContext: contextWith(), llmRequest });
    }
    return (llmRequest.config?.tools ?? []) as Tool[];
  };
  const [first, second] = await configured();
  first?.retrieval?.vertexRagStore?.ragCorpora?.push('another');
  second?.retrieval?.vertexAiSearch?.dataStoreSpecs?.pop();
  expect(await configured()).toMatchObject([
    { retrieval: { vertexRagStore: { ragCorpora: ['c'] } } },
    { retrieval: { vertexAiSearch: { dataStoreSpecs: [{ dataStore: 'd' }] } } },
  ]);
});

/** What a tool makes of a request, or why it makes nothing of it. */
async function processed(
  processLlmRequest: (request: { toolContext: never; llmRequest: never }) => Promise<void>,
  model: string | undefined,
  present: unknown[],
): Promise<unknown> {
  const llmRequest = { ...emptyRequest(), model, config: { tools: present.slice() } };
  try {
    await processLlmRequest({ toolContext: contextWith() as never, llmRequest: llmRequest as never });
    return JSON.parse(JSON.stringify(llmRequest.config.tools));
  } catch (error) {
    return (error as { problem?: string; message: string }).problem ?? (error as Error).message;
  }
}

describe('tools of Gemini itself [builtin.gemini]', () => {
  test.each(
    OF_ADK.flatMap(([ours, theirs]) =>
      ['', 'True'].map((unchecked) => [theirs.name, unchecked, ours, theirs] as const),
    ),
  )(
    '%s makes of every model what ADK makes of it, with ADK_DISABLE_GEMINI_MODEL_ID_CHECK=%s',
    async (_, unchecked, ours, theirs) => {
      vi.stubEnv('ADK_DISABLE_GEMINI_MODEL_ID_CHECK', unchecked);
      onTestFinished(() => void vi.unstubAllEnvs());
      for (const model of MODELS) {
        for (const present of [[], [{ codeExecution: {} }]]) {
          expect(
            await processed((request) => ours.processLlmRequest(request), model, present),
            model,
          ).toEqual(await processed((request) => theirs.processLlmRequest(request), model, present));
        }
      }
      expect([ours.name, ours.description]).toEqual([theirs.name, theirs.description]);
      expect(ours._getDeclaration()).toBeUndefined();
      expect(await run(ours)).toBeUndefined();
    },
  );

  test('code execution is what ADK’s executor adds', async () => {
    const executor = new adk.BuiltInCodeExecutor();
    for (const model of MODELS.filter((name) => name !== undefined)) {
      const theirs = await processed(
        async ({ llmRequest }) => executor.processLlmRequest(llmRequest),
        model,
        [],
      );
      expect(await processed((request) => CODE_EXECUTION.processLlmRequest(request), model, [])).toEqual(
        theirs,
      );
    }
  });

  test('a refusal names the tool', async () => {
    const llmRequest = emptyRequest('claude-4');
    await expect(GOOGLE_SEARCH.processLlmRequest({ toolContext: contextWith(), llmRequest })).rejects.toThrow(
      'tool "google_search": Google search tool is not supported for model claude-4',
    );
  });

  test('a search can depend on the state', async () => {
    class CitySearch extends VertexAiSearchTool {
      override buildVertexAiSearchConfig(
        ...[context]: Parameters<VertexAiSearchTool['buildVertexAiSearchConfig']>
      ) {
        return { ...super.buildVertexAiSearchConfig(context), filter: `city: ${context.state.get('city')}` };
      }
    }
    const llmRequest = emptyRequest();
    await new CitySearch({ dataStoreId: 'd' }).processLlmRequest({ toolContext: contextWith(), llmRequest });
    expect(llmRequest.config?.tools).toEqual([
      { retrieval: { vertexAiSearch: { datastore: 'd', filter: 'city: Graz' } } },
    ]);
  });

  test('any by its configuration, copied', async () => {
    const search = { excludeDomains: ['example.com'] };
    const tool = new GeminiTool('google_search', { googleSearch: search });
    search.excludeDomains.push('example.org');
    const requests = [emptyRequest(), emptyRequest()];
    for (const llmRequest of requests)
      await tool.processLlmRequest({ toolContext: contextWith(), llmRequest });
    for (const { config } of requests) {
      expect(config?.tools).toEqual([{ googleSearch: { excludeDomains: ['example.com'] } }]);
      config?.tools?.splice(0);
    }
  });

  test.each<[() => unknown, string]>([
    [() => new GeminiTool('x y', { googleSearch: {} }), 'GeminiTool: name: must start with'],
    [
      () => new GeminiTool('x', null as never),
      'GeminiTool "x": genaiTool: expected a Tool of @google/genai, got null',
    ],
    [() => new GeminiTool('x', {}), 'genaiTool: names no tool; { googleSearch: {} } does'],
    [() => new GeminiTool('x', { functionDeclarations: [] }), 'functions are no tools of Gemini itself'],
    [() => new VertexAiSearchTool({} as never), 'Either dataStoreId or searchEngineId must be specified.'],
    [
      () => new VertexAiSearchTool({ dataStoreId: 'd', searchEngineId: 'e' } as never),
      'Either dataStoreId or searchEngineId must be specified.',
    ],
    [
      () => new VertexAiSearchTool({ dataStoreId: 'd', dataStoreSpecs: [] } as never),
      'searchEngineId must be specified if dataStoreSpecs is specified.',
    ],
    [() => new VertexAiSearchTool({ dataStoreId: 'd', maxResult: 1 } as never), 'did you mean "maxResults"?'],
    [() => new VertexRagRetrievalTool('c' as never), 'expected a VertexRagStore, got string'],
  ])('refuses %s', (make, message) => {
    expect(refusal(make).message).toContain(message);
  });
});

test('a tool without a declaration only processes the request [request.toolOnly]', async () => {
  class Today extends BaseTool {
    constructor() {
      super({ name: 'today', description: 'Tells the model the date.' });
    }
    override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest) {
      llmRequest.metadata = { ...llmRequest.metadata, today: '2026-11-20' };
      toolContext.state.set('temp:today', '2026-11-20');
    }
    override async runAsync() {
      return undefined;
    }
  }
  const llmRequest = emptyRequest();
  const toolContext = contextWith();
  await new Today().processLlmRequest({ toolContext, llmRequest });
  expect(llmRequest).toEqual({ ...emptyRequest(), metadata: { today: '2026-11-20' } });
  expect(toolContext.actions.stateDelta).toEqual({ 'temp:today': '2026-11-20' });
});
