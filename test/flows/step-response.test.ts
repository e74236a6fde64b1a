import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { UnsafeLocalCodeExecutor } from '../../src/code-executors/unsafe-local-code-executor.ts';
import type { Part } from '../../src/events/content.ts';
import { textOf } from '../../src/events/content.ts';
import { type AskedStep, draftFromError, recordOf } from '../../src/flows/step-draft.ts';
import { draftFromResponse, type GivenResponse } from '../../src/flows/step-response.ts';
import { usageOf } from '../../src/flows/step-usage.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { INLINE_LIMIT } from '../../src/protocol/sizes.ts';
import { tool } from '../../src/tools/function-tool.ts';

const pay = tool({ name: 'pay', description: 'pays', execute: () => 1 });
const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [pay], maxParallelCalls: 7 });
const keeps = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', outputKey: 'answer' });

const RUN = 'e-AAAAAAAAAAAAAAAAAAAAAA';
const asked: AskedStep = {
  session: 'session-1',
  invocationId: RUN,
  runKey: RUN,
  step: 2,
  agent: 'support',
  model: 'gemini-2.5-flash',
  usage: { modelCalls: 1, promptTokens: 10, outputTokens: 5, totalTokens: 15 },
  prices: {},
};
const usageMetadata = {
  promptTokenCount: 7,
  candidatesTokenCount: 2,
  thoughtsTokenCount: 3,
  totalTokenCount: 12,
};
const used = { modelCalls: 1, promptTokens: 7, outputTokens: 5, totalTokens: 12 };
const total = { modelCalls: 2, promptTokens: 17, outputTokens: 10, totalTokens: 27 };

const step = async (response: LlmResponse, of = agent, given: Partial<GivenResponse> = {}) => {
  const draft = await draftFromResponse(
    asked,
    of,
    {
      response,
      usage: usageOf(response, asked),
      events: [],
      actions: () => undefined,
      tools: new Map(of.tools.map((each) => [each.name, each as typeof pay])),
      codeExecutor: undefined,
      toolEdits: undefined,
      pauses: false,
      planned: undefined,
      ...given,
    },
    new Set(),
  );
  return recordOf(draft);
};
const saying = (...parts: object[]): LlmResponse => ({ content: { role: 'model', parts }, usageMetadata });

describe('a response', () => {
  test('that only says something ends the turn: text without thoughts, usage of all steps [turn.answer]', async () => {
    const answer = await step(
      saying({ text: 'hm', thought: true }, { text: 'It is ' }, { text: 'shipped.' }),
    );
    expect(answer.ending).toEqual({ status: 'completed', text: 'It is shipped.', usage: total });
    expect(answer.usage).toEqual(used);
    expect(answer.outcome).toMatchObject({
      v: 1,
      kind: 'final',
      session: 'session-1',
      outcome: answer.ending,
    });
    expect(answer.events).toMatchObject([
      { kind: 'model', event: { author: 'support', invocationId: RUN, content: { role: 'model' } } },
    ]);
    expect({ calls: answer.calls, rows: answer.rows }).toEqual({ calls: [], rows: [] });
  });

  test('of more than 4 KiB stays in the store, its reference names the step [size.text]', async () => {
    const text = 'é'.repeat(INLINE_LIMIT);
    expect((await step(saying({ text }))).ending?.text).toMatchObject({
      key: `${RUN}.2`,
      bytes: 2 * INLINE_LIMIT + 2,
    });
  });

  test('with calls goes on, whatever else it says: each by its key, in order [turn.calls]', async () => {
    const calling = await step(
      saying(
        { text: 'one moment' },
        { functionCall: { name: 'pay', args: { n: 1 } }, thoughtSignature: 'c2ln' },
        { functionCall: { name: 'pay', args: { n: 2 }, id: 'call_0' } },
      ),
    );
    expect(calling.ending).toBeUndefined();
    expect(calling.outcome).toMatchObject({
      kind: 'calls',
      agent: 'support',
      maxParallelCalls: 7,
      usage: total,
    });
    expect(calling.calls).toEqual([
      { callKey: `${RUN}.2.0`, callId: `adk-${RUN}.2.0`, tool: 'pay' },
      { callKey: `${RUN}.2.1`, callId: 'call_0', tool: 'pay' },
    ]);
    expect(calling.events[0]?.event.content?.parts).toEqual([
      { text: 'one moment' },
      { functionCall: { name: 'pay', args: { n: 1 }, id: `adk-${RUN}.2.0` }, thoughtSignature: 'c2ln' },
      { functionCall: { name: 'pay', args: { n: 2 }, id: 'call_0' } },
    ]);
  });

  test('with calls runs them also where it carries an error [turn.calls]', async () => {
    const response = { ...saying({ functionCall: { name: 'pay' } }), errorCode: 'MAX_TOKENS' };
    expect((await step(response)).outcome.kind).toBe('calls');
    expect((await step(response)).events[0]?.event.errorCode).toBe('MAX_TOKENS');
  });

  test.each<[string, LlmResponse, 'error' | 'model', string]>([
    ['no content', { errorCode: 'SAFETY', errorMessage: 'blocked', usageMetadata }, 'error', 'blocked'],
    [
      'half an answer',
      { ...saying({ text: 'I am' }), errorCode: 'MAX_TOKENS' },
      'model',
      'the model stopped with MAX_TOKENS',
    ],
  ])(
    'with an error and %s fails the turn, its event is kept [model.safety]',
    async (_name, response, kind, message) => {
      const failed = await step(response);
      expect(failed.ending).toEqual({
        status: 'failed',
        error: { code: response.errorCode, message },
        usage: total,
      });
      expect(failed.events).toMatchObject([{ kind, event: { errorCode: response.errorCode } }]);
    },
  );

  test('keeps what the provider says beside the content [model.fields]', async () => {
    const response: LlmResponse = {
      ...saying({ text: 'hi' }),
      finishReason: 'STOP' as LlmResponse['finishReason'],
      groundingMetadata: { webSearchQueries: ['q'] },
      customMetadata: { a: 1 },
      modelVersion: 'gemini-2.5-flash-001',
      partial: false,
    } as LlmResponse;
    const { partial: _partial, ...said } = response;
    expect((await step(response)).events[0]?.event).toMatchObject(said);
    expect((await step(response)).events[0]?.event).not.toHaveProperty('partial');
  });

  test('sets the output key by final text only [agent.outputKey]', async () => {
    const delta = async (response: LlmResponse) =>
      (await step(response, keeps)).events[0]?.event.actions.stateDelta;
    expect(await delta(saying({ text: 'shipped' }))).toEqual({ answer: 'shipped' });
    expect(await delta(saying({ text: 'hm', thought: true }, { text: 'yes' }))).toEqual({ answer: 'yes' });
    expect(await delta(saying({ text: 'hm', thought: true }))).toEqual({});
    expect(await delta(saying({ text: 'wait' }, { functionCall: { name: 'pay' } }))).toEqual({});
    expect(await delta({ ...saying({ text: 'half' }), errorCode: 'MAX_TOKENS' })).toEqual({});
  });

  test('without content is an empty answer [turn.answer]', async () => {
    expect((await step({})).ending).toMatchObject({ status: 'completed', text: '' });
    expect((await step({})).events[0]?.event).not.toHaveProperty('content');
  });

  test('calls without name or arguments are answered, not run [tool.unknown]', async () => {
    const { rows, outcome } = await step(saying({ functionCall: {} }));
    expect(outcome).toMatchObject({ kind: 'calls', calls: [] });
    expect(rows).toMatchObject([
      { tool: '', response: { error: expect.stringContaining("tool '' not found") } },
    ]);
  });
});

test('an error ends the turn as failed, counts as a model call, and is kept as an event [model.permanent]', () => {
  const spent = { modelCalls: 1, promptTokens: 3, outputTokens: 0, totalTokens: 3 };
  const error = { code: 'HOLDFAST_MODEL_BAD_REQUEST', message: 'bad' };
  const failed = recordOf(draftFromError(asked, error, { usage: spent }));
  expect(failed.ending).toEqual({
    status: 'failed',
    error: { code: 'HOLDFAST_MODEL_BAD_REQUEST', message: 'bad' },
    usage: { modelCalls: 2, promptTokens: 13, outputTokens: 5, totalTokens: 18 },
  });
  expect(failed.outcome).toMatchObject({ kind: 'failed', outcome: failed.ending });
  expect(failed.events).toMatchObject([
    {
      kind: 'error',
      event: { author: 'support', errorCode: 'HOLDFAST_MODEL_BAD_REQUEST', errorMessage: 'bad' },
    },
  ]);
});

test('the final text is that of all text parts but thoughts, nothing between them [turn.answer]', () => {
  const part = fc.oneof(
    fc.record({ text: fc.string() }),
    fc.record({ text: fc.string(), thought: fc.boolean() }),
    fc.constant({ inlineData: { mimeType: 'image/png', data: '' } }),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const said = parts.flatMap((each) =>
        'text' in each && !('thought' in each && each.thought) ? [each.text] : [],
      );
      expect(textOf({ role: 'model', parts })).toBe(said.join(''));
    }),
  );
  expect(textOf(undefined)).toBe('');
  expect(textOf({ role: 'model' })).toBe('');
});

test('code that a planner marks as a thought is run, the thoughts of the model are not [agent.codeExecutor] [agent.planner]', async () => {
  const codeExecutor = new UnsafeLocalCodeExecutor();
  const marked = (parts: readonly Part[]) => parts.map((part) => ({ ...part, thought: true }));
  const code = { text: '/*ACTION*/\n```python\nprint(1)\n```' };
  const { calls, outcome } = await step(saying(code), agent, { codeExecutor, planned: marked });
  expect(calls).toHaveLength(1);
  expect(outcome).toMatchObject({
    calls: [{ tool: 'UnsafeLocalCodeExecutor', args: { value: { code: 'print(1)' } } }],
  });
  const thoughts = await step(saying({ ...code, thought: true }), agent, { codeExecutor, planned: marked });
  expect(thoughts.calls).toEqual([]);
});
