import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Event } from '../../src/events/event.ts';
import { getFunctionCalls } from '../../src/events/event.ts';
import { getUserChoiceTool, requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let execute: (context: Context) => Promise<unknown>;
const agent = new LlmAgent({
  name: 'clerk',
  model: 'gemini-2.5-flash',
  tools: [
    requestInputTool,
    getUserChoiceTool,
    tool({ name: 'ship', description: 'd', execute: (_args, context) => execute(context) }),
    tool({
      name: 'ship_soon',
      description: 'd',
      requireConfirmation: () => false,
      approval: { expiresIn: 300 },
      execute: (_args, context) => execute(context),
    }),
    tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
  ],
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [agent] });
});
beforeEach(() => {
  execute = async () => ({});
});
afterAll(() => environment.close());

type Called = { name: string; args: Record<string, unknown> };
async function asked(...calls: Called[]): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([calls]));
  return await AskingTurn.start(environment);
}

describe('a question of the model', () => {
  test('waits for a person; the model sees it, the answer, and the calls beside it [input.request] [contents.reserved]', async () => {
    const question = { name: 'adk_request_input', args: { message: 'Which size?' } };
    const turn = await asked(question, { name: 'look', args: {} });
    const [request] = await turn.pending();
    expect(request).toMatchObject({ kind: 'input', hint: 'Which size?', tool: 'adk_request_input' });
    const event = (await turn.events()).find(({ kind }) => kind === 'request')?.event as Event;
    expect(getFunctionCalls(event)).toEqual([
      {
        id: request?.requestId,
        name: 'adk_request_input',
        args: {
          interruptId: request?.requestId,
          message: 'Which size?',
          payload: null,
          response_schema: null,
        },
      },
    ]);
    expect(event.longRunningToolIds).toEqual([request?.requestId]);
    expect(await turn.input('large')).toMatchObject({ status: 'answered' });
    expect(await turn.responses()).toEqual([{ result: 'large' }, { seen: true }]);
    const [, called, answered] = contentsOf(environment.gemini.requests.at(-1));
    expect(called?.parts).toMatchObject([
      { functionCall: { name: 'adk_request_input' } },
      { functionCall: { name: 'look' } },
    ]);
    expect(answered?.parts).toMatchObject([
      { functionResponse: { name: 'adk_request_input', response: { result: 'large' } } },
      { functionResponse: { name: 'look' } },
    ]);
  });

  test('is answered by what its schema takes, and by nothing else [input.request]', async () => {
    const turn = await asked({
      name: 'adk_request_input',
      args: {
        message: 'How many?',
        response_schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      },
    });
    await turn.pending();
    expect(await turn.input({ n: 'many' })).toMatchObject({ status: 'refused' });
    expect(await turn.input({ n: 3 })).toMatchObject({ status: 'answered' });
    expect(await turn.responses()).toEqual([{ n: 3 }]);
  });

  test('has a pattern that would never come to an end, and holds up nobody [schema.outside] [schema.linear]', async () => {
    const address = '12 Long Street, Springfield, Oregon, United States of America, second floor';
    const turn = await asked({
      name: 'adk_request_input',
      args: {
        message: 'Where do you live?',
        response_schema: { type: 'string', pattern: String.raw`^(([\w .,])+)+\u0000$` },
      },
    });
    await turn.pending();
    const refused = turn.input(address);
    environment.gemini.reset(stepCalls([[{ name: 'look', args: {} }]]));
    const other = await AskingTurn.start(environment);
    expect(await other.result()).toMatchObject({ status: 'completed' });
    expect(await refused).toMatchObject({ status: 'refused', reason: expect.stringContaining('pattern') });
    expect(await turn.input(`${address}\0`)).toMatchObject({ status: 'answered' });
  });

  test('with a pattern that needs another engine is answered by whatever else fits [schema.outside]', async () => {
    const turn = await asked({
      name: 'adk_request_input',
      args: { message: 'A word?', response_schema: { type: 'string', pattern: '^(?=a)(?!b)' } },
    });
    await turn.pending();
    expect(await turn.input(3)).toMatchObject({ status: 'refused' });
    expect(await turn.input('word')).toMatchObject({ status: 'answered' });
  });

  test('with a schema beyond the bounds is answered with an error that says which [schema.outside]', async () => {
    const properties = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`p${n}`, {}]));
    const turn = await asked({
      name: 'adk_request_input',
      args: { message: 'Which?', response_schema: { type: 'object', properties } },
    });
    expect(await turn.responses()).toMatchObject([
      { error: expect.stringContaining('at most 500 are taken') },
    ]);
    expect(await turn.requests()).toEqual([]);
  });

  test('with a schema that is none is answered with an error: nobody is asked [input.request]', async () => {
    const turn = await asked({
      name: 'adk_request_input',
      args: { message: 'How many?', response_schema: { type: 'quantity' } },
    });
    expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('response_schema') }]);
    expect(await turn.requests()).toEqual([]);
  });

  test('of a choice is answered by one of what is offered [input.choice]', async () => {
    const turn = await asked({ name: 'get_user_choice', args: { options: ['red', 'blue'] } });
    const [request] = await turn.pending();
    expect(JSON.stringify(request)).toContain('blue');
    expect(await turn.input('green')).toMatchObject({ status: 'refused' });
    await turn.input('blue');
    expect(JSON.stringify(await turn.responses())).toContain('blue');
  });

  test.each(someOf([{ choice: 'blue' }, { result: 'blue' }]))(
    "of a choice is answered by ADK's response to the call, too: %j [input.choice]",
    async (response) => {
      const turn = await asked({ name: 'get_user_choice', args: { options: ['red', 'blue'] } });
      const [request] = await turn.pending();
      const answer = (given: Record<string, unknown>, id = request?.callId ?? '') =>
        environment.client.sendMessage({
          ...turn.names,
          message: {
            role: 'user',
            parts: [{ functionResponse: { id, name: 'get_user_choice', response: given } }],
          },
        });
      // Of a slow worker nobody hears that it refuses.
      await Promise.allSettled([answer({ choice: 'green' })]);
      await answer(response);
      expect(await turn.responses()).toEqual([{ result: 'blue' }]);
    },
  );
});

describe('a question of a tool', () => {
  test('is answered when the tool runs again; several one after another [input.request]', async () => {
    const log: string[] = [];
    const responseSchema = z.object({ street: z.string() });
    execute = async (context) => {
      log.push('runs');
      const { street } = await context.requestInput({ message: 'Where to?', responseSchema });
      const floor = await context.requestInput({ message: 'Which floor?', payload: { street } });
      return { street, floor };
    };
    const turn = await asked({ name: 'ship', args: {} });
    const [first] = await turn.pending();
    expect(first).toMatchObject({ kind: 'input', hint: 'Where to?', responseSchema: { type: 'object' } });
    await turn.input({ street: 'Main' });
    await expect.poll(async () => (await turn.pending())[0]?.hint).toBe('Which floor?');
    const [second] = await turn.pending();
    expect(second?.payload).toEqual({ street: 'Main' });
    await turn.input(3, second?.requestId);
    expect(await turn.responses()).toEqual([{ street: 'Main', floor: 3 }]);
    expect(log).toEqual(['runs', 'runs', 'runs']);
  });

  test('that nobody answers in time is an error of the call [input.request] [approval.expiry]', async () => {
    execute = async (context) => await context.requestInput({ message: 'Anybody?' });
    const turn = await asked({ name: 'ship_soon', args: {} });
    expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('nobody has given') }]);
    expect(await turn.requests()).toMatchObject([{ status: 'expired' }]);
  });

  test("is answered by ADK's function response, too [input.request] [confirm.reply]", async () => {
    execute = async (context) => ({ to: await context.requestInput({ message: 'Where to?' }) });
    const turn = await asked({ name: 'ship', args: {} });
    const [request] = await turn.pending();
    await environment.client.sendMessage({
      ...turn.names,
      message: {
        role: 'user',
        parts: [
          {
            functionResponse: {
              id: request?.requestId ?? '',
              name: 'adk_request_input',
              response: { result: 'Main street' },
            },
          },
        ],
      },
    });
    expect(await turn.responses()).toEqual([{ to: 'Main street' }]);
  });
});
