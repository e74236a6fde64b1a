import { randomUUID } from 'node:crypto';
import type { Language } from '@google/genai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BaseCodeExecutor, type ExecuteCodeParams } from '../../src/code-executors/base-code-executor.ts';
import type { Part } from '../../src/events/content.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { BasePlanner } from '../../src/planners/planners.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { SET_MODEL_RESPONSE } from '../../src/tools/built-in/set-model-response-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const model = new OwnModel();
const count = tool({ name: 'count', description: 'counts', execute: () => ({ counted: 1 }) });
const begin = new LongRunningFunctionTool({
  name: 'begin',
  description: 'begins',
  execute: () => ({ status: 'pending' }),
});
class Python extends BaseCodeExecutor {
  override async executeCode({ codeExecutionInput: { code } }: ExecuteCodeParams) {
    const stderr = code.includes('boom') ? 'boom' : '';
    return { stdout: `ran ${code}`, stderr, outputFiles: [] };
  }
}
class Tagged extends BasePlanner {
  override buildPlanningInstruction() {
    return 'Plan first.';
  }
  override processPlanningResponse(context: Context, parts: readonly Part[]) {
    context.state.set('planned', true);
    return parts.map((part) => (part.text?.startsWith('PLAN') ? { ...part, thought: true } : part));
  }
}
const order = z.object({ id: z.string(), items: z.array(z.string()).default([]) });
const agents = [
  new LlmAgent({ name: 'plain', model, tools: [count, begin], outputKey: 'answer' }),
  new LlmAgent({ name: 'native', model, outputSchema: order, outputKey: 'order' }),
  new LlmAgent({ name: 'calling', model, tools: [count], outputSchema: order, outputKey: 'order' }),
  new LlmAgent({ name: 'coding', model, codeExecutor: new Python() }),
  new LlmAgent({ name: 'planning', model, planner: new Tagged() }),
];
const app = new App({
  name: 'editing',
  rootAgent: new LlmAgent({
    name: 'editor',
    model,
    tools: [count],
    beforeModelCallback: ({ request, context }) => edit(request, context.invocationId),
  }),
  durable: {
    toolFactories: {
      query: ({ orderId }) =>
        tool({ name: `query_${orderId}`, description: 'queries', execute: () => ({ of: orderId }) }),
    },
  },
});
let edit = (_request: LlmRequest, _invocationId: string): undefined => undefined;

const parts = (...list: Part[]): LlmResponse => ({ content: { role: 'model', parts: list } });
const calling = (name: string, args = {}, id = 'call-1') => parts({ functionCall: { name, args, id } });

describe('what a turn answers', () => {
  let environment: TurnEnvironment;
  let requests: LlmRequest[] = [];

  beforeAll(async () => {
    environment = await openTurnEnvironment({ agents, apps: [app] });
  });
  beforeEach(() => {
    requests = [];
    edit = () => undefined;
  });
  afterAll(() => environment.close());

  /** The given responses in order, then an end. */
  function answering(...responses: LlmResponse[]) {
    model.respond = async (request) => {
      requests.push({ ...request, toolsDict: { ...request.toolsDict } });
      return responses.shift() ?? saying('fine');
    };
  }
  const run = (agent: string, more: Partial<Parameters<TurnEnvironment['run']>[0]> = {}) =>
    environment.run({ message: 'go', agent, ...more });

  test('by a schema is a value, and the JSON of it; the state gets its defaults [agent.outputSchema]', async () => {
    answering(parts({ text: 'hm', thought: true }, { text: '{"id":' }, { text: '"7"}' }));
    const { result, events } = await run('native');
    expect(result).toMatchObject({ status: 'completed', text: '{"id":"7"}', output: { value: { id: '7' } } });
    expect(events.at(-1)?.event.actions.stateDelta).toEqual({ order: { id: '7', items: [] } });
    expect(requests[0]?.config?.responseJsonSchema).toMatchObject({ type: 'object' });
  });

  test.each(
    someOf([
      ['no JSON', 'seven', 'seven'],
      ['another value', '{"id":7}', { id: 7 }],
    ]),
  )('by a schema that is %s is text without a value [agent.outputSchema]', async (_what, text, state) => {
    answering(saying(text));
    const { result, events } = await run('native');
    expect(result).toMatchObject({ status: 'completed', text });
    expect(result).not.toHaveProperty('output');
    expect(events.at(-1)?.event.actions.stateDelta).toEqual({ order: state });
  });

  test('of more than 4 KiB is referred to, and read by the client [agent.outputSchema]', async () => {
    const value = { id: 'x'.repeat(5_000), items: [] };
    answering(saying(JSON.stringify(value)));
    const { result, history } = await run('native');
    expect(result.text).toMatchObject({ key: `${result.invocationId}.1` });
    expect(result.output).toEqual({ value });
    const completed = history.events?.at(-1)?.workflowExecutionCompletedEventAttributes?.result?.payloads;
    expect(String(completed?.[0]?.data)).toContain('"output":{"ref"');
  });

  test('through set_model_response: what is invalid is asked for again [agent.outputSchema]', async () => {
    answering(
      calling(SET_MODEL_RESPONSE, { id: 7 }),
      parts(
        { text: 'there you are' },
        { functionCall: { name: SET_MODEL_RESPONSE, args: { id: '7', items: ['a'] } } },
      ),
    );
    const { result, events, history } = await run('calling');
    expect(result).toMatchObject({
      status: 'completed',
      text: '{"id":"7","items":["a"]}',
      output: { value: { id: '7', items: ['a'] } },
      usage: { modelCalls: 2 },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'model']);
    expect(events[2]?.event.content?.parts?.[0]?.functionResponse).toEqual({
      id: 'call-1',
      name: SET_MODEL_RESPONSE,
      response: {
        error: expect.stringMatching(
          /^Invoking `set_model_response\(\)` failed due to validation errors: id: expected string/,
        ),
      },
    });
    expect(events.at(-1)?.event).toMatchObject({
      content: { role: 'model', parts: [{ text: '{"id":"7","items":["a"]}' }] },
      actions: { stateDelta: { order: { id: '7', items: ['a'] } } },
    });
    // Nothing is run for an answer.
    expect(JSON.stringify(history.events)).not.toContain('"activityType":{"name":"set_model_response"}');
  });

  test('can be code that the agent’s executor runs, until it has failed too often [agent.codeExecutor]', async () => {
    const code = (text: string) =>
      parts({ executableCode: { code: text, language: 'PYTHON' as Language } }, { text: 'it is 42' });
    answering(code('print(1)'), code('boom'), code('boom'), code('boom'));
    const { result, events } = await run('coding');
    expect(result).toMatchObject({ status: 'completed', usage: { modelCalls: 4 } });
    expect(events.map(({ kind, event }) => [kind, Object.keys(event.content?.parts?.[0] ?? {})])).toEqual([
      ['message', ['text']],
      ['model', ['executableCode']],
      ['responses', ['codeExecutionResult']],
      ['model', ['executableCode']],
      ['responses', ['codeExecutionResult']],
      ['model', ['executableCode']],
      ['responses', ['codeExecutionResult']],
      ['model', ['executableCode']],
    ]);
    expect(events[2]?.event.content?.parts).toEqual([
      {
        codeExecutionResult: {
          outcome: 'OUTCOME_OK',
          output: 'Code execution result:\nran print(1)\n',
        },
      },
    ]);
    // What the model wrote behind its code guessed the result.
    expect(events[1]?.event.content?.parts).toHaveLength(1);
  });

  test('is what a planner makes of it, with the state that it writes [agent.planner]', async () => {
    answering(parts({ text: 'PLAN: ask' }, { text: 'yes' }));
    const { result, events } = await run('planning');
    expect(result.text).toBe('yes');
    expect(events.at(-1)?.event).toMatchObject({
      content: { parts: [{ text: 'PLAN: ask', thought: true }, { text: 'yes' }] },
      actions: { stateDelta: { planned: true } },
    });
    expect(requests[0]?.config?.systemInstruction).toContain('Plan first.');
  });

  test('is kept under outputKey without thoughts, and not while calls go on [agent.outputKey]', async () => {
    answering(
      parts({ text: 'wait' }, { functionCall: { name: 'count', args: {} } }),
      parts({ text: 'hm', thought: true }, { text: 'one' }),
    );
    const { events } = await run('plain');
    expect(events.map(({ event }) => event.actions.stateDelta)).toEqual([{}, {}, {}, { answer: 'one' }]);
  });

  test('can be calls that the client answers, by a message [runner.config]', async () => {
    answering(calling('count', { n: 1 }, 'call-9'), saying('counted by you'));
    const sessionId = randomUUID();
    const paused = await run('plain', { sessionId, runConfig: { pauseOnToolCalls: true } });
    expect(paused.result).toMatchObject({ status: 'completed', usage: { modelCalls: 1 } });
    expect(paused.events.map(({ kind }) => kind)).toEqual(['message', 'model']);
    const response = { id: 'call-9', name: 'count', response: { counted: 5 } };
    const message = { role: 'user', parts: [{ functionResponse: response }] };
    const { result } = await run('plain', { sessionId, message });
    expect(result).toMatchObject({ status: 'completed', text: 'counted by you' });
    expect(requests[1]?.contents.at(-1)?.parts).toEqual([{ functionResponse: response }]);
  });

  test('is a clear error where a message answers what nobody has called [contents.late]', async () => {
    answering();
    const sessionId = randomUUID();
    const functionResponse = { id: 'call-0', name: 'count', response: {} };
    const { result, events } = await run('plain', { sessionId, message: { parts: [{ functionResponse }] } });
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'HOLDFAST_UNMATCHED_RESPONSE', message: expect.stringContaining('"call-0"') },
      usage: { modelCalls: 0 },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
    expect((await run('plain', { sessionId })).result).toMatchObject({ text: 'fine' });
  });

  test('names calls that go on after their response [tool.longRunningNote]', async () => {
    answering(
      parts(
        { functionCall: { name: 'count', args: {}, id: 'call-1' } },
        { functionCall: { name: 'begin', args: {}, id: 'call-2' } },
      ),
    );
    const { result, events } = await run('plain');
    expect(result.text).toBe('fine');
    expect(events.map(({ event }) => event.longRunningToolIds)).toEqual([
      undefined,
      ['call-2'],
      undefined,
      undefined,
    ]);
  });

  test('keeps all that a model says beside its content [model.fields]', async () => {
    const fields = {
      groundingMetadata: {
        webSearchQueries: ['q'],
        groundingChunks: [{ web: { uri: 'https://a.example' } }],
      },
      citationMetadata: { citations: [{ uri: 'https://a.example', startIndex: 1 }] },
      usageMetadata: { promptTokenCount: 1, totalTokenCount: 2, cachedContentTokenCount: 1 },
      customMetadata: { deep: [{ a: null }] },
      turnComplete: true,
      interrupted: true,
      finishReason: 'STOP',
      modelVersion: 'own-1',
    } as LlmResponse;
    answering({ ...fields, ...saying('hi') });
    const { events } = await run('plain');
    expect(events.at(-1)?.event).toMatchObject(fields);
  });

  test.each<[string, unknown, string]>([
    ['a function', { cost: { of: () => 1 } }, 'customMetadata.cost.of: JSON has no function; leave it out'],
    ['text', 'cheap', 'customMetadata: expected an object, got string'],
  ])(
    'is refused with metadata that are %s, by name [model.fields]',
    async (_what, customMetadata, problem) => {
      answering({ ...saying('hi'), customMetadata } as LlmResponse);
      const { result } = await run('plain');
      expect(result.error).toEqual({
        code: 'HOLDFAST_MODEL_RESPONSE',
        message: `the model's response can't be used: ${problem}`,
      });
    },
  );

  test('can call tools that callbacks add: in later steps, on any worker, in this turn only [registry.turn] [registry.ephemeral]', async () => {
    const names = { app: 'editing', userId: 'ada', sessionId: randomUUID() };
    const seen: string[][] = [];
    let edited: string | undefined;
    edit = ({ tools }, invocationId) => {
      if (edited === undefined) tools?.add('query', { orderId: 7 });
      if (edited === undefined) tools?.remove('count');
      edited ??= invocationId;
      return undefined;
    };
    const restarted = Promise.withResolvers<void>();
    const responses = [calling('query_7'), saying('done'), saying('other turn')];
    model.respond = async ({ toolsDict }) => {
      seen.push(Object.keys(toolsDict));
      if (seen.length === 2) {
        restarted.resolve();
        // This attempt ends with its worker.
        if (model.asked === 2) return new Promise(() => undefined);
      }
      return responses.shift();
    };
    model.asked = 0;
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    await restarted.promise;
    await environment.restartWorker();
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(seen).toEqual([['query_7'], ['query_7'], ['query_7']]);
    const events = await environment.store.sessions.readEvents(names);
    expect(events[2]?.event.content?.parts?.[0]?.functionResponse?.response).toEqual({ of: 7 });
    expect(JSON.stringify(events)).not.toContain('_holdfast');

    expect((await environment.run({ ...names, message: 'again' })).result.text).toBe('other turn');
    expect(seen.at(-1)).toEqual(['count']);
  });

  test('can call tools that callbacks have added when the turn is retried, too [registry.turn] [session.retry]', async () => {
    const names = { app: 'editing', userId: 'ada', sessionId: randomUUID() };
    let asked = 0;
    edit = ({ tools }) => void (asked++ === 0 && tools?.add('query', { orderId: 7 })) as undefined;
    answering(calling('query_7'), saying('done'), saying('once more'));
    const { result } = await environment.run({ ...names, message: 'go' });
    const retry = await environment.client.sessions.retry({
      ...names,
      callKey: `${result.invocationId}.1.0`,
    });
    expect(await retry.result()).toMatchObject({ status: 'completed', text: 'once more' });
    expect(requests.map(({ toolsDict }) => Object.keys(toolsDict))).toEqual(
      Array.from({ length: 3 }, () => ['count', 'query_7']),
    );
    const { contents } = requests[2] as LlmRequest;
    expect(contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({ of: 7 });
  });

  test('may be about contents and declarations that callbacks edit in place, for one request [callback.model]', async () => {
    answering();
    edit = ({ contents, config }) => {
      for (const part of contents.flatMap(({ parts: list = [] }) => list)) part.text = 'redacted';
      for (const entry of config?.tools ?? []) {
        if (!('functionDeclarations' in entry)) continue;
        for (const declaration of entry.functionDeclarations ?? []) declaration.description = 'edited';
      }
      return undefined;
    };
    const names = { app: 'editing', sessionId: randomUUID() };
    const first = await environment.run({ ...names, message: 'go' });
    expect(first.result).toMatchObject({ status: 'completed', text: 'fine' });
    edit = () => undefined;
    await environment.run({ ...names, message: 'again' });
    const [edited, later] = requests.map(({ contents, config }) => JSON.stringify([contents, config?.tools]));
    expect(edited).toContain('redacted');
    expect(edited).toContain('"description":"edited"');
    expect(later).not.toMatch(/redacted|edited/);
    expect(later).toContain('"text":"go"');
  });

  test('is none where a callback adds a tool by itself, or takes the contents away [callback.throws]', async () => {
    answering();
    edit = ({ toolsDict }) => void Object.assign(toolsDict, { own: count });
    const adding = await environment.run({ app: 'editing', message: 'go' });
    expect(adding.result.error).toMatchObject({
      code: 'HOLDFAST_DEFINITION',
      message: expect.stringContaining('the request offers the tool "own"'),
    });
    edit = (request) => void Object.assign(request, { contents: undefined });
    const emptied = await environment.run({ app: 'editing', message: 'go' });
    expect(emptied.result.error).toEqual({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message:
        'beforeModelCallback of agent "editor" failed: request.contents: expected a list of Contents, got undefined',
    });
    expect(requests).toEqual([]);
  });
});
