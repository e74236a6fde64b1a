import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { call, hang, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const again = tool({
  name: 'again',
  description: 'is called again and again',
  execute: () => ({ ok: true }),
});
const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [again, held.tool()] });
const prices = { 'gemini-*': { input: 1, output: 1 } };

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    apps: [
      new App({ name: 'calls', rootAgent, durable: { budgets: { turn: { modelCalls: 3 } } } }),
      new App({ name: 'tokens', rootAgent, durable: { budgets: { session: { tokens: 1 } } } }),
      new App({ name: 'cost', rootAgent, durable: { prices, budgets: { turn: { cost: 0.000_000_1 } } } }),
      new App({ name: 'time', rootAgent, durable: { budgets: { turn: { time: '4s' } } } }),
      new App({ name: 'steps', rootAgent, durable: { runConfig: { maxLlmCalls: 2 } } }),
      new App({ name: 'priced', rootAgent, durable: { prices } }),
    ],
  });
});
beforeEach(() => held.hold());
afterAll(() => environment.close());

const exceeded = (message: RegExp) => ({
  status: 'failed',
  error: { code: 'HOLDFAST_BUDGET_EXCEEDED', message: expect.stringMatching(message) },
});

test('a turn that has made its model calls fails, its events kept, and the session goes on [budget.limits]', async () => {
  environment.gemini.reset(() => call('again'));
  const { result, events } = await environment.run({ app: 'calls', sessionId: 's', message: 'go' });
  expect(result).toMatchObject(exceeded(/the turn's budget of 3 model calls is used up/));
  expect(result.usage.modelCalls).toBe(3);
  expect(events.at(-1)).toMatchObject({ kind: 'error', event: { errorCode: 'HOLDFAST_BUDGET_EXCEEDED' } });
  expect(events.filter(({ kind }) => kind === 'responses')).toHaveLength(3);
  environment.gemini.reset([text('fine')]);
  expect((await environment.run({ app: 'calls', sessionId: 's', message: 'more' })).result).toMatchObject({
    status: 'completed',
    text: 'fine',
  });
});

test('a session that has used its tokens ends before it asks a model again [budget.limits]', async () => {
  environment.gemini.reset([text('fine')]);
  const session = { app: 'tokens', sessionId: 's' };
  expect((await environment.run({ ...session, message: 'one' })).result.status).toBe('completed');
  expect((await environment.run({ ...session, message: 'two' })).result).toMatchObject(
    exceeded(/the session's budget of 1 tokens is used up: \d+ used/),
  );
  expect(environment.gemini.requests).toHaveLength(1);
});

test('what a turn cost is in its result, and ends it where it is too much [budget.limits]', async () => {
  environment.gemini.reset([text('fine')]);
  const { usage } = (await environment.run({ app: 'priced', message: 'go' })).result;
  expect(usage.cost).toBeCloseTo((usage.promptTokens + usage.outputTokens) / 1_000_000, 12);
  environment.gemini.reset(() => call('again'));
  const { result } = await environment.run({ app: 'cost', message: 'go' });
  expect(result).toMatchObject(exceeded(/the turn's budget of a cost of 1e-7 is used up/));
  expect(result.usage.modelCalls).toBe(1);
});

test('an app says how many steps its turns take, a message how many its own does [budget.limits]', async () => {
  environment.gemini.reset(() => call('again'));
  const steps = async (runConfig?: { maxLlmCalls: number }) => {
    const turn = { app: 'steps', message: 'go', ...(runConfig ? { runConfig } : {}) };
    const { result } = await environment.run(turn);
    expect(result.error).toMatchObject({ code: 'LLM_CALLS_LIMIT_EXCEEDED' });
    return result.usage.modelCalls;
  };
  expect(await steps()).toBe(2);
  expect(await steps({ maxLlmCalls: 4 })).toBe(4);
});

/** Within the time of its turn it has come to what is asked for. */
const slowly: GeminiScript = ({ contents }) =>
  contents?.[0]?.parts?.[0]?.text === 'hold' ? call('hold') : hang();

test.concurrent('a turn that is out of time ends while a tool runs: its call is answered [budget.limits]', async () => {
  environment.gemini.reset(slowly);
  const { result, events } = await environment.run({ app: 'time', message: 'hold' });
  expect(result).toMatchObject(exceeded(/wall time/));
  expect(events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'error']);
  expect(events[2]?.event.content?.parts?.[0]?.functionResponse?.response).toEqual({
    error: 'cancelled: the time of its turn is used up',
  });
});

if (isDeep) {
  test.concurrent('a turn that is out of time ends while its model is asked [budget.limits]', async () => {
    environment.gemini.reset(slowly);
    const { result, events } = await environment.run({ app: 'time', message: 'hang' });
    expect(result).toMatchObject(exceeded(/wall time/));
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
  });
}

if (isDeep) {
  test('model calls whose worker went away count: no turn asks for ever [budget.limits]', async () => {
    environment.gemini.reset(() => hang());
    const names = { app: 'calls', userId: 'ada', sessionId: 'lost' };
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    for (const asked of [1, 2, 3]) {
      await environment.gemini.waitForRequests(asked);
      await environment.restartWorker();
    }
    const result = await turn.result();
    expect(result).toMatchObject(exceeded(/the turn's budget of 3 model calls is used up/));
    expect(result.usage).toMatchObject({ modelCalls: 3, unknownCalls: 3 });
  });
}
