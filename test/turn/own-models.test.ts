import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { textOf } from '../setup/history-facts.ts';
import { never, OwnModel, saying } from '../setup/own-model.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const own = new OwnModel();
let instruct = async () => 'You help.';

const noop = tool({ name: 'noop', description: 'does nothing', execute: () => ({}) });
const quick = { maximumAttempts: 1, initialInterval: 1, maximumInterval: 2 };
const agents = [
  new LlmAgent({ name: 'quick', model: own, tools: [noop], modelTimeout: 300, modelRetry: quick }),
  new LlmAgent({ name: 'patient', model: own, tools: [noop], modelRetry: { ...quick, maximumAttempts: 3 } }),
  new LlmAgent({ name: 'keyless', model: 'anthropic/claude-sonnet-4-5' }),
  new LlmAgent({
    name: 'instructed',
    model: own,
    instruction: () => instruct(),
    modelTimeout: 300,
    modelRetry: quick,
  }),
];

const parts = (...list: unknown[]) => ({ content: { role: 'model', parts: list } });
const calling = (functionCall: unknown) => parts({ functionCall });

describe('a model of users', () => {
  const { ANTHROPIC_API_KEY: key } = process.env;
  let environment: TurnEnvironment;

  beforeAll(async () => {
    delete process.env.ANTHROPIC_API_KEY;
    environment = await openTurnEnvironment({ agents });
  });
  beforeEach(() => {
    own.respond = async () => saying('fine');
    instruct = async () => 'You help.';
    own.asked = 0;
  });
  afterAll(async () => {
    if (key !== undefined) process.env.ANTHROPIC_API_KEY = key;
    await environment.close();
  });

  async function expectGoesOn(sessionId: string): Promise<void> {
    own.respond = async () => saying('still here');
    const next = await environment.run({ message: 'are you there?', sessionId, agent: 'patient' });
    expect(next.result).toMatchObject({ status: 'completed', text: 'still here' });
  }

  test('without its key is told as such, and no call of it is counted [model.aiSdk.secrets]', async () => {
    const { result } = await environment.run({ message: 'go', agent: 'keyless' });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_MODEL_AUTHENTICATION',
        message: expect.stringMatching(/was not asked.*ANTHROPIC_API_KEY/),
      },
      usage: { modelCalls: 0 },
    });
  });

  test.each<[string, unknown]>([
    ['a bigint in its metadata', { ...saying('hi'), customMetadata: { cost: 1n } }],
    ['parts that are no list', { content: { role: 'model', parts: 'hi' } }],
  ])(
    'that answers with %s is asked once, the turn fails, the next works [model.unusable]',
    async (_name, response) => {
      own.respond = async () => response;
      const sessionId = randomUUID();
      const { result, events } = await environment.run({ message: 'go', sessionId, agent: 'patient' });
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: expect.stringMatching(/^HOLDFAST_(MODEL_RESPONSE|UNSTORABLE)$/) },
        usage: { modelCalls: 1 },
      });
      expect(own.asked).toBe(1);
      expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
      await expectGoesOn(sessionId);
    },
  );

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a call that is null, which is none', calling(null)],
    ['text as it is', 'hi'],
    ['parts that are no objects', parts(null, 'x', 5)],
    ['text that is a number', parts({ text: 5 })],
    ['a call with a number as its name', calling({ name: 5 })],
    ['a call with text as its arguments', calling({ name: 'noop', args: 'x' })],
    ['a call with a list as its arguments', calling({ name: 'noop', args: [1] })],
    ['a call with a number as its id', calling({ name: 'noop', args: {}, id: 5 })],
    ['a count that is text', { ...saying('hi'), usageMetadata: { totalTokenCount: 'many' } }],
    ['half a token', { ...saying('hi'), usageMetadata: { promptTokenCount: 1.5 } }],
    ['more tokens than there are', { ...saying('hi'), usageMetadata: { promptTokenCount: 1e300 } }],
    ['no number of tokens', { ...saying('hi'), usageMetadata: { candidatesTokenCount: Number.NaN } }],
    ['an error code that is a number', { errorCode: 400, errorMessage: 'bad' }],
    ['an error message that is an object', { errorCode: 'BAD', errorMessage: { bad: true } }],
  ])(
    'that answers with %s is asked no more than its attempts, the next turn works [model.unusable]',
    async (_name, response) => {
      own.respond = async ({ contents }) =>
        contents.at(-1)?.parts?.some((part) => part.functionResponse) ? saying('done') : response;
      const sessionId = randomUUID();
      const { result } = await environment.run({ message: 'go', sessionId, agent: 'patient' });
      expect(own.asked).toBeLessThanOrEqual(3);
      expect(result.usage.modelCalls).toBeLessThanOrEqual(own.asked);
      expect(['completed', 'failed']).toContain(result.status);
      await expectGoesOn(sessionId);
    },
  );

  test('that answers with a null among its parts is understood [model.unusable]', async () => {
    own.respond = async () => parts(null, { text: 'hello' });
    const { result } = await environment.run({ message: 'go', agent: 'patient' });
    expect(result).toMatchObject({ status: 'completed', text: 'hello', usage: { modelCalls: 1 } });
  });

  test('that never answers ends the turn after its attempts [model.silent]', async () => {
    own.respond = never;
    const { result } = await environment.run({ message: 'go', agent: 'quick' });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        message: expect.stringContaining('no answer within 300 ms (modelTimeout of the agent quick)'),
      },
    });
    expect(own.asked).toBe(1);
  });

  test('whose instruction is never written ends the turn after its attempts [model.silent]', async () => {
    instruct = never;
    const { result } = await environment.run({ message: 'go', agent: 'instructed' });
    expect(result).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('no answer within 300 ms') },
    });
    expect(own.asked).toBe(0);
  });

  test('that never answers is left where its turn is cancelled [model.silent] [turn.cancel]', async () => {
    const asked = Promise.withResolvers<void>();
    own.respond = () => {
      asked.resolve();
      return never();
    };
    const names = { app: 'test', userId: 'ada', sessionId: 'cancelled while silent' };
    const handle = await environment.client.sendMessage({ ...names, message: 'go', agent: 'patient' });
    await asked.promise;
    await environment.temporal.workflow.getHandle(handle.workflowId).cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    await expectGoesOn(names.sessionId);
  });

  test.each(
    someOf([
      ['error message', { errorCode: 'OTHER', errorMessage: 'é'.repeat(150_000) }],
      ['error code', { errorCode: 'é'.repeat(150_000), errorMessage: 'bad' }],
    ]),
  )('that gives 300 KB of %s: the result is short [model.message]', async (_name, response) => {
    own.respond = async () => response;
    const { result, history } = await environment.run({ message: 'go', agent: 'patient' });
    expect(result.status).toBe('failed');
    expect(Buffer.byteLength(result.error?.message ?? '')).toBeLessThanOrEqual(2_000);
    expect(Buffer.byteLength(textOf(history))).toBeLessThan(32_000);
  });
});
