import { randomUUID } from 'node:crypto';
import type { Content } from '@google/genai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  BaseCodeExecutor,
  type CodeExecutionResult,
  type ExecuteCodeParams,
} from '../../src/code-executors/base-code-executor.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { call, raw, text } from '../../src/testing/gemini-reply.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { Media } from '../../src/tools/media.ts';
import type { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

let execute: () => unknown;
/** What the toolset has, each time that it is asked. */
let shelf: (context: ReadonlyContext | undefined) => BaseTool[];
let asked = 0;
let runCode: (code: ExecuteCodeParams) => Promise<CodeExecutionResult>;

class Shelf extends BaseToolset {
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    asked += 1;
    return shelf(context);
  }
  override async close(): Promise<void> {}
}

class Sandbox extends BaseCodeExecutor {
  override executeCode(params: ExecuteCodeParams): Promise<CodeExecutionResult> {
    return runCode(params);
  }
}

const fetched = (says: string, more: { exclusive?: boolean } = {}) =>
  tool({
    name: 'fetch_it',
    description: 'd',
    isConcurrencySafe: more.exclusive !== true,
    execute: (_args, { state }) => {
      const times = (state.get<number>('times') ?? 0) + 1;
      state.set('times', times);
      return { says, times };
    },
  });

const gemini = 'gemini-2.5-flash';
const own = new LlmAgent({
  name: 'support',
  model: gemini,
  tools: [tool({ name: 'draw', description: 'd', execute: () => execute() })],
});
const shelved = new LlmAgent({ name: 'shelved', model: gemini, tools: [new Shelf()] });
const coder = new LlmAgent({
  name: 'coder',
  model: gemini,
  tools: [tool({ name: 'Sandbox_', description: 'd', execute: () => ({}) })],
  codeExecutor: new Sandbox(),
  beforeToolCallback: () => ({ error: 'code is no tool' }),
});
const adding = new LlmAgent({
  name: 'adding',
  model: gemini,
  beforeModelCallback: ({ request }) => {
    if (request.tools?.has('order_42') === false) request.tools.add('order', { id: 42 });
    return undefined;
  },
});
const app = new App({
  name: 'shop',
  rootAgent: adding,
  durable: {
    toolFactories: {
      order: ({ id }) => tool({ name: `order_${id}`, description: 'd', execute: () => ({ order: id }) }),
    },
  },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [own, shelved, coder, adding], apps: [app] });
});
beforeEach(() => {
  asked = 0;
});
afterAll(() => environment.close());

const responsesOf = ({ events }: RanTurn) =>
  events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);
const lastContents = (): Content[] => contentsOf(environment.gemini.requests.at(-1));

describe('media', () => {
  const png = new Media({ mimeType: 'image/png', data: Uint8Array.of(1, 2, 3), name: 'a.png' });
  const data = Buffer.from([1, 2, 3]).toString('base64');

  test('as a result are sent as parts behind the response, and kept with it [tool.media]', async () => {
    execute = () => [png, png];
    environment.gemini.reset(stepCalls([[{ name: 'draw' }]]));
    const turn = await environment.run({ message: 'draw', agent: 'support' });
    const piece = { mimeType: 'image/png', bytes: 3, name: 'a.png' };
    const inlineData = { inlineData: { mimeType: 'image/png', data } };
    const parts = [
      { functionResponse: expect.objectContaining({ response: { media: [piece, piece] } }) },
      inlineData,
      inlineData,
    ];
    expect(turn.events.find(({ kind }) => kind === 'responses')?.event.content?.parts).toEqual(parts);
    expect(lastContents().at(-1)?.parts).toEqual(parts);
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('without a byte are a clear error, and the turn goes on [tool.media]', async () => {
    execute = () => new Uint8Array(0);
    environment.gemini.reset(stepCalls([[{ name: 'draw' }]]));
    const turn = await environment.run({ message: 'draw', agent: 'support' });
    expect(responsesOf(turn)).toEqual([{ error: expect.stringContaining('media without a byte') }]);
    expect(turn.result.status).toBe('completed');
  });
});

describe('a toolset', () => {
  test('is asked again where the call runs: what it has there runs, with the state of then [toolset.resolve]', async () => {
    shelf = (context) => {
      const tools = [fetched(`asked ${asked}`)];
      return context?.state.get('hidden') === true ? [] : tools;
    };
    environment.gemini.reset(stepCalls([[{ name: 'fetch_it' }]]));
    const turn = await environment.run({ message: 'go', agent: 'shelved' });
    // Request, call, request.
    expect(responsesOf(turn)).toEqual([{ says: 'asked 2', times: 1 }]);
    expect(asked).toBe(3);
  });

  test('whose tool is gone when its call runs is waited for, as for another worker [toolset.resolve]', async () => {
    shelf = () => (asked === 2 ? [] : [fetched('back')]);
    environment.gemini.reset(stepCalls([[{ name: 'fetch_it' }]]));
    const turn = await environment.run({ message: 'go', agent: 'shelved' });
    expect(responsesOf(turn)).toEqual([{ says: 'back', times: 1 }]);
    expect(asked).toBe(4);
  });

  test('that fails where the call runs is the call’s failure: tried again, then told [toolset.fails]', async () => {
    shelf = () => {
      if (asked === 2) throw new Error('shelf 2 is broken');
      if (asked === 3) throw new ToolError('shelf 3 is gone', { retryable: false });
      return [fetched('never')];
    };
    environment.gemini.reset(stepCalls([[{ name: 'fetch_it' }]]));
    const turn = await environment.run({ message: 'go', agent: 'shelved' });
    expect(responsesOf(turn)).toEqual([
      { error: 'toolset Shelf (tools[0] of agent "shelved") failed: shelf 3 is gone' },
    ]);
    expect(turn.result.status).toBe('completed');
  });

  test('that is away for longer than a tool’s attempts is waited for [toolset.fails]', async () => {
    shelf = () => {
      if (asked > 1 && asked < 5) throw new Error(`shelf ${asked} is broken`);
      return [fetched('back')];
    };
    environment.gemini.reset(stepCalls([[{ name: 'fetch_it' }]]));
    const turn = await environment.run({ message: 'go', agent: 'shelved' });
    expect(responsesOf(turn)).toEqual([{ says: 'back', times: 1 }]);
  });

  test('has its exclusive tools run one by one, each seeing the state of those before [toolset.resolve]', async () => {
    shelf = () => [fetched('one by one', { exclusive: true })];
    environment.gemini.reset(stepCalls([[{ name: 'fetch_it' }, { name: 'fetch_it' }]]));
    const turn = await environment.run({ message: 'go', agent: 'shelved' });
    expect(responsesOf(turn)).toMatchObject([{ times: 1 }, { times: 2 }]);
  });
});

test('a tool that a callback has added runs on whichever worker, by its factory and arguments [registry.turn]', async () => {
  environment.gemini.reset(stepCalls([[{ name: 'order_42' }], [{ name: 'order_42' }]]));
  const turn = await environment.run({ message: 'go', app: 'shop', agent: 'adding' });
  expect(responsesOf(turn)).toEqual([{ order: 42 }, { order: 42 }]);
  const states = turn.events.map(({ event }) => JSON.stringify(event.actions));
  expect(states.join()).not.toContain('order');
});

describe('code that the model wrote', () => {
  const code = 'print(6 * 7)';
  const answer = (parts: object[]) =>
    raw({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    });
  const executable = { executableCode: { code, language: 'PYTHON' } };
  const run = () => environment.run({ message: 'compute', agent: 'coder' });
  const partsOf = ({ events }: RanTurn, kind: string) =>
    events.find((stored) => stored.kind === kind)?.event.content?.parts;

  test('runs as a call of its step, an activity of its executor’s name; the model gets the result [agent.codeExecutor]', async () => {
    const seen: unknown[] = [];
    runCode = async ({ codeExecutionInput, invocationContext }) => {
      seen.push(codeExecutionInput, invocationContext.agent?.name);
      return {
        stdout: '42',
        stderr: '',
        outputFiles: [{ name: 'a.txt', content: 'hi', mimeType: 'text/plain' }],
      };
    };
    environment.gemini.reset([answer([{ text: 'I compute.' }, executable]), text('42')]);
    const turn = await run();
    expect(turn.result).toMatchObject({ status: 'completed', text: '42' });
    expect(seen).toEqual([{ code, language: 'python', inputFiles: [] }, 'coder']);
    const output = 'Code execution result:\n42\n\n\nFiles:\na.txt';
    expect(partsOf(turn, 'model')).toMatchObject([{ text: 'I compute.' }, executable]);
    expect(partsOf(turn, 'responses')).toEqual([
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output } },
      { inlineData: { mimeType: 'text/plain', data: Buffer.from('hi').toString('base64') } },
    ]);
    const types = turn.history.events?.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    );
    expect(types).toEqual(['holdfast.callModel', 'Sandbox', 'holdfast.callModel']);
    const [said, result] = lastContents().slice(-2);
    expect(JSON.stringify(said)).toContain('print(6 * 7)');
    expect(JSON.stringify(result)).toContain('Code execution result');
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('is not run by a function call of the executor’s name [agent.codeExecutor]', async () => {
    runCode = () => expect.fail('the code has run');
    environment.gemini.reset([call('Sandbox', { code }), text('sorry')]);
    const turn = await run();
    expect(responsesOf(turn)).toEqual([{ error: expect.stringContaining("tool 'Sandbox' not found") }]);
  });

  test('that throws has failed, and the turn goes on [agent.codeExecutor]', async () => {
    runCode = async () => {
      throw Object.assign(new Error('no sandbox'), { retryable: false });
    };
    environment.gemini.reset([answer([executable]), text('no luck')]);
    const turn = await run();
    expect(partsOf(turn, 'responses')).toEqual([
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no sandbox' } },
    ]);
    expect(turn.result).toMatchObject({ status: 'completed', text: 'no luck' });
  });

  test('whose worker is lost isn’t run again, and the model is told [agent.codeExecutor] [tool.unknown]', async () => {
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    runCode = () => {
      runs += 1;
      begun.resolve();
      return new Promise(() => undefined);
    };
    environment.gemini.reset([answer([executable]), text('I will look')]);
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'compute', agent: 'coder' });
    await begun.promise;
    await environment.restartWorker();
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'I will look' });
    const events = await environment.store.sessions.readEvents(names);
    expect(events.find(({ kind }) => kind === 'responses')?.event.content?.parts).toEqual([
      {
        codeExecutionResult: {
          outcome: 'OUTCOME_FAILED',
          output: 'outcome unknown: this call may have run; check before repeating it',
        },
      },
    ]);
    expect(runs).toBe(1);
  });
});
