import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { blocked, call, error, stopped, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { beating } from '../setup/beating.ts';
import { scheduledActivities, textOf } from '../setup/history-facts.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { settledCalls } from '../setup/settled-calls.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

const runs: Record<string, number> = {};
const count = (name: string) => {
  runs[name] = (runs[name] ?? 0) + 1;
  return runs[name];
};

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const quick = { initialInterval: 1, maximumInterval: 10 };
const fails = tool({
  name: 'fails',
  description: 'fails always',
  retry: quick,
  execute: () => {
    count('fails');
    throw new Error('no luck');
  },
});
const failsOnce = tool({
  name: 'fails_once',
  description: 'fails the first time',
  retry: quick,
  execute: () => {
    if (count('fails_once') === 1) throw new Error('not yet');
    return { ok: true };
  },
});
const refuses = tool({
  name: 'refuses',
  description: 'fails for good',
  execute: () => {
    count('refuses');
    throw new ToolError('the card is blocked', { retryable: false });
  },
});
const throwsAnything = tool({
  name: 'throws_anything',
  description: 'throws what is no error',
  retry: { ...quick, maximumAttempts: 1 },
  parameters: z.object({ what: z.string() }),
  execute: ({ what }) => {
    throw { string: 'just text', undefined: undefined, null: null, object: { code: 7 } }[what];
  },
});
const remembers = tool({
  name: 'remembers',
  description: 'writes state',
  parameters: z.object({ key: z.string(), value: z.unknown() }),
  execute: ({ key, value }, context) => {
    const before = context?.state.get('seen', 'nothing');
    context?.state.set(key, value);
    return { before };
  },
});
const returns = tool({
  name: 'returns',
  description: 'returns what JSON can say',
  parameters: z.object({ json: z.string() }),
  execute: ({ json }) => (json === '' ? undefined : JSON.parse(json)),
});
const ends = tool({
  name: 'ends',
  description: 'ends the turn with its result',
  execute: (_args, context) => {
    if (context) context.actions.skipSummarization = true;
    return { ended: true };
  },
});
const identity = tool({
  name: 'identity',
  description: 'tells what it knows',
  execute: (_args, context) => ({
    app: context?.appName,
    user: context?.userId,
    session: context?.sessionId,
    agent: context?.agentName,
    invocation: context?.invocationId,
    callKey: context?.callKey,
    attempt: context?.attempt,
    said: context?.userContent?.parts?.[0]?.text,
  }),
});
const inline = tool({
  name: 'inline_add',
  description: 'adds in the worker of the turn',
  parameters: z.object({ a: z.number() }),
  execution: 'inline',
  execute: ({ a }) => ({ sum: a + 1 }),
});
const increments = tool({
  name: 'increments',
  description: 'reads and writes a counter',
  isConcurrencySafe: false,
  execute: (_args, context) => {
    const was = context.state.get<number>('counter', 0) ?? 0;
    context.state.set('counter', was + 1);
    return { was };
  },
});
const waits = tool({
  name: 'waits',
  description: 'waits until it is cancelled',
  execute: (_args, context) =>
    beating(
      context,
      new Promise((_resolve, reject) =>
        context.abortSignal?.addEventListener('abort', () => reject(new Error('cancelled'))),
      ),
    ),
});
const secretive = tool({
  name: 'secretive',
  description: 'sees and says secrets',
  parameters: z.object({ pin: z.string() }),
  sensitive: true,
  execute: ({ pin }) => ({ account: `account of ${pin}` }),
});

const config: LlmAgentConfig = {
  name: 'support',
  model: 'gemini-2.5-flash',
  instruction: 'You help {user:name?}.',
  tools: [
    add,
    fails,
    failsOnce,
    refuses,
    throwsAnything,
    remembers,
    returns,
    ends,
    identity,
    inline,
    secretive,
    waits,
    increments,
  ],
  outputKey: 'answer',
  modelRetry: { initialInterval: 1, maximumInterval: 10 },
};
const agents = [new LlmAgent(config), new LlmAgent({ ...config, name: 'thinking', model: 'gemini-3-pro' })];

describe('a turn', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({ agents });
  });
  afterAll(() => environment.close());

  function responses({ events }: RanTurn, step = 1): unknown[] {
    const merged = events.find((stored) => stored.kind === 'responses' && stored.step === step);
    return merged === undefined ? [] : getFunctionResponses(merged.event).map(({ response }) => response);
  }

  test('without calls: message, answer, result [turn.answer]', async () => {
    environment.gemini.reset([text('hello')]);
    const turn = await environment.run({ message: 'hi', messageId: 'm1' });
    expect(turn.result).toMatchObject({
      v: 1,
      status: 'completed',
      text: 'hello',
      events: { from: 1, to: 2 },
      usage: { modelCalls: 1 },
    });
    expect(turn.result.usage.totalTokens).toBeGreaterThan(0);
    expect(turn.events.map(({ kind, event }) => [kind, event.author])).toEqual([
      ['message', 'user'],
      ['model', 'support'],
    ]);
    expect(turn.events[1]?.event.actions.stateDelta).toEqual({ answer: 'hello' });
  });

  test('parallel calls run each as an activity named after its tool; responses in call order [turn.calls]', async () => {
    environment.gemini.reset(
      stepCalls([
        [
          { name: 'add', args: { a: 1, b: 2 } },
          { name: 'returns', args: { json: '[1]' } },
          { name: 'add', args: { a: 3, b: 4 } },
        ],
      ]),
    );
    const turn = await environment.run({ message: 'go' });
    const { invocationId } = turn.result;
    expect(scheduledActivities(turn.history)).toEqual([
      { type: 'holdfast.callModel', id: expect.any(String), summary: 'agent · step 1' },
      { type: 'add', id: `${invocationId}.1.0`, summary: 'a: 1, b: 2' },
      { type: 'returns', id: `${invocationId}.1.1`, summary: 'json: [1]' },
      { type: 'add', id: `${invocationId}.1.2`, summary: 'a: 3, b: 4' },
      { type: 'holdfast.callModel', id: expect.any(String), summary: 'support · gemini-2.5-flash · step 2' },
    ]);
    expect(responses(turn)).toEqual([{ sum: 3 }, { result: [1] }, { sum: 7 }]);
    expect(environment.gemini.refusals).toEqual([]);
  });

  test.each(
    someOf([
      ['', {}],
      ['"text"', { result: 'text' }],
      ['null', { result: null }],
      ['[1,2]', { result: [1, 2] }],
      ['{"a":{"b":1}}', { a: { b: 1 } }],
      ['0', { result: 0 }],
    ]),
  )('a result %j reaches the model as %j [tool.result]', async (json, response) => {
    environment.gemini.reset(stepCalls([[{ name: 'returns', args: { json } }]]));
    expect(responses(await environment.run({ message: 'go' }))).toEqual([response]);
  });

  test("a tool's failures are retried, the third is the answer [tool.retry]", async () => {
    environment.gemini.reset(stepCalls([[{ name: 'fails' }, { name: 'fails_once' }, { name: 'refuses' }]]));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result.status).toBe('completed');
    expect(responses(turn)).toEqual([
      { error: "Error in tool 'fails': no luck" },
      { ok: true },
      { error: "Error in tool 'refuses': the card is blocked" },
    ]);
    expect(runs).toMatchObject({ fails: 3, fails_once: 2, refuses: 1 });
  });

  test.each(someOf(['string', 'undefined', 'null', 'object']))(
    'a tool that throws %s answers with an error [tool.throws]',
    async (what) => {
      environment.gemini.reset(stepCalls([[{ name: 'throws_anything', args: { what } }]]));
      const [response] = responses(await environment.run({ message: 'go' }));
      expect(response).toEqual({ error: expect.stringMatching(/^Error in tool 'throws_anything': ./) });
    },
  );

  test('unknown tools and invalid arguments are answers, siblings keep their results [tool.unknown] [tool.arguments]', async () => {
    environment.gemini.reset(
      stepCalls([
        [
          { name: 'subtract', args: {} },
          { name: 'add', args: { a: 'one' } },
          { name: 'add', args: { a: 1, b: 1 } },
        ],
      ]),
    );
    const turn = await environment.run({ message: 'go' });
    const [unknown, invalid, fine] = responses(turn) as { error: string }[];
    expect(unknown?.error).toMatch(/^tool 'subtract' not found\.\nAvailable tools: add, fails/);
    expect(invalid?.error).toMatch(/a: expected number, got string/);
    expect(fine).toEqual({ sum: 2 });
  });

  test('only unknown tools: the next step follows at once [tool.unknown]', async () => {
    environment.gemini.reset(
      stepCalls([[{ name: 'subtract' }, { name: 'constructor' }, { name: '__proto__' }]]),
    );
    const turn = await environment.run({ message: 'go' });
    expect(turn.result.status).toBe('completed');
    expect(scheduledActivities(turn.history).map(({ type }) => type)).toEqual([
      'holdfast.callModel',
      'holdfast.callModel',
    ]);
  });

  test('state: written by tools, merged, read by the next turn; temp is never in an event [turn.state]', async () => {
    environment.gemini.reset(
      stepCalls([
        [
          { name: 'remembers', args: { key: 'cart', value: { a: 1 } } },
          { name: 'remembers', args: { key: 'cart', value: { b: 2 } } },
          { name: 'remembers', args: { key: 'temp:x', value: 1 } },
          { name: 'remembers', args: { key: 'user:name', value: 'Ada' } },
        ],
        [{ name: 'remembers', args: { key: 'seen', value: 'yes' } }],
        [{ name: 'remembers', args: { key: 'other', value: 1 } }],
      ]),
    );
    const turn = await environment.run({ message: 'go' });
    const merged = turn.events.find(({ kind, step }) => kind === 'responses' && step === 1);
    expect(merged?.event.actions.stateDelta).toEqual({ cart: { a: 1, b: 2 }, 'user:name': 'Ada' });
    expect(responses(turn, 2)).toEqual([{ before: 'nothing' }]);
    expect(responses(turn, 3)).toEqual([{ before: 'yes' }]);
    const asked = environment.gemini.requests.at(-1)?.body.systemInstruction;
    expect(JSON.stringify(asked)).toContain('You help Ada.');
  });

  test('calls that are not safe together run alone and see what the ones before wrote [tool.alone]', async () => {
    const increments = Array.from({ length: 4 }, () => ({ name: 'increments' }));
    environment.gemini.reset(stepCalls([increments]));
    const turn = await environment.run({ message: 'go' });
    expect(responses(turn)).toEqual([{ was: 0 }, { was: 1 }, { was: 2 }, { was: 3 }]);
    expect(turn.events.find(({ kind }) => kind === 'responses')?.event.actions.stateDelta).toEqual({
      counter: 4,
    });
  });

  test('skipSummarization ends the turn without another model call [turn.skipSummarization]', async () => {
    environment.gemini.reset([call('ends'), text('never asked')]);
    const turn = await environment.run({ message: 'go' });
    expect(turn.result).toMatchObject({ status: 'completed', events: { from: 1, to: 3 } });
    expect(turn.events.at(-1)).toMatchObject({
      kind: 'responses',
      event: { actions: { skipSummarization: true } },
    });
    expect(environment.gemini.requests).toHaveLength(1);
  });

  test('a tool knows who called it [tool.context]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'identity' }]]));
    const turn = await environment.run({ message: 'who?', sessionId: 'a session/with 😀' });
    expect(responses(turn)).toEqual([
      {
        app: 'test',
        user: 'ada',
        session: 'a session/with 😀',
        agent: 'support',
        invocation: turn.result.invocationId,
        callKey: `${turn.result.invocationId}.1.0`,
        attempt: 1,
        said: 'who?',
      },
    ]);
  });

  test('an inline call is no activity of its own, and counts the same [tool.inline]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'inline_add', args: { a: 1 } }]]));
    const turn = await environment.run({ message: 'go' });
    expect(responses(turn)).toEqual([{ sum: 2 }]);
    expect(scheduledActivities(turn.history).map(({ type }) => type)).toEqual([
      'holdfast.callModel',
      'holdfast.callModel',
    ]);
  });

  test('sensitive arguments and results reach tool and model, and no history [tool.sensitive]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'secretive', args: { pin: '4711-0815' } }]]));
    const turn = await environment.run({ message: 'go' });
    expect(responses(turn)).toEqual([{ account: 'account of 4711-0815' }]);
    expect(textOf(turn.history)).not.toContain('4711-0815');
  });

  test('maxLlmCalls ends the turn as failed, its events kept [turn.maxLlmCalls]', async () => {
    environment.gemini.reset(() => call('add', { a: 1, b: 1 }));
    const turn = await environment.run({ message: 'go', runConfig: { maxLlmCalls: 2 } });
    expect(turn.result).toMatchObject({
      status: 'failed',
      error: { code: 'LLM_CALLS_LIMIT_EXCEEDED', message: 'Max number of llm calls limit of 2 exceeded' },
      usage: { modelCalls: 2 },
    });
    expect(turn.events.map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'responses',
      'model',
      'responses',
      'error',
    ]);
    expect(turn.events.at(-1)?.event).toMatchObject({ errorCode: 'LLM_CALLS_LIMIT_EXCEEDED' });
    expect(environment.gemini.requests).toHaveLength(2);
  });

  if (isDeep) {
    test("a model's failures: the third ends the turn, a rate limit doesn't count [model.retry]", async () => {
      environment.gemini.reset([
        error(429, 'slow down', { retryAfterMs: 1 }),
        error(503),
        error(429),
        error(500),
        text('at last'),
      ]);
      const turn = await environment.run({ message: 'go' });
      expect(turn.result).toMatchObject({ status: 'completed', text: 'at last' });
      environment.gemini.reset(() => error(503, 'down'));
      const failed = await environment.run({ message: 'go' });
      expect(failed.result).toMatchObject({
        status: 'failed',
        error: { code: 'HOLDFAST_MODEL_UNAVAILABLE' },
      });
      expect(environment.gemini.requests).toHaveLength(3);
      expect(failed.events.map(({ kind }) => kind)).toEqual(['message', 'error']);
    });
  }

  test('what the model will never answer ends the turn at once [model.permanent]', async () => {
    environment.gemini.reset(() => error(400, 'no such thing'));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_MODEL_BAD_REQUEST' } });
    expect(environment.gemini.requests).toHaveLength(1);
  });

  test('a blocked prompt and a stopped answer keep their reasons [model.safety]', async () => {
    environment.gemini.reset([blocked('SAFETY')]);
    expect((await environment.run({ message: 'go' })).result).toMatchObject({
      status: 'failed',
      error: { code: 'SAFETY' },
    });
    environment.gemini.reset([stopped('MAX_TOKENS', 'half an ans')]);
    const cut = await environment.run({ message: 'go' });
    expect(cut.result).toMatchObject({ status: 'completed', text: 'half an ans' });
    expect(cut.events[1]?.event.finishReason).toBe('MAX_TOKENS');
  });

  test('streaming gives the same transcript [model.streaming]', async () => {
    environment.gemini.reset([
      [text('I add. '), call('add', { a: 1, b: 1 })],
      text('The sum of one and one is two.'),
    ]);
    const turn = await environment.run({ message: 'go', runConfig: { streamingMode: 'sse' } });
    expect(turn.result).toMatchObject({ text: 'The sum of one and one is two.' });
    expect(environment.gemini.requests.map(({ streaming }) => streaming)).toEqual([true, true]);
    expect(turn.events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'model']);
  });

  test('thought signatures go back verbatim [model.verbatim]', async () => {
    environment.gemini.reset(
      stepCalls([
        [
          { name: 'add', args: { a: 1, b: 1 } },
          { name: 'add', args: { a: 2, b: 2 } },
        ],
        [{ name: 'add', args: { a: 3, b: 3 } }],
      ]),
    );
    const turn = await environment.run({ message: 'go', agent: 'thinking' });
    expect(turn.result.status).toBe('completed');
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('the next turn of a session sees the last one [session.continue]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'add', args: { a: 1, b: 2 } }]], 'three'));
    await environment.run({ message: 'add', sessionId: 'continued' });
    environment.gemini.reset([text('I said three')]);
    const second = await environment.run({ message: 'what did you say?', sessionId: 'continued' });
    expect(second.result.events).toEqual({ from: 5, to: 6 });
    const roles = contentsOf(environment.gemini.requests[0]).map(({ role }) => role);
    expect(roles).toEqual(['user', 'model', 'user', 'model', 'user']);
  });

  test('one message id is one turn, ever after [turn.messageId]', async () => {
    environment.gemini.reset([text('once')]);
    const first = await environment.run({ message: 'go', sessionId: 'same', messageId: 'm' });
    const again = await environment.run({ message: 'go', sessionId: 'same', messageId: 'm' });
    expect(again.result).toEqual(first.result);
    expect(again.events).toEqual(first.events);
    expect(environment.gemini.requests).toHaveLength(1);
  });

  test('search attributes find a turn, also one that a plain client started [turn.searchAttributes]', async () => {
    environment.gemini.reset(() => text('hi'));
    await environment.temporal.workflow.execute('agentTurn', {
      workflowId: 'test/plain/s1',
      taskQueue: 'holdfast',
      args: [{ app: 'test', userId: 'plain', sessionId: 's1', message: 'hi' }],
    });
    await environment.run({ message: 'hi', userId: 'labelled', sessionId: 's2' });
    for (const user of ['plain', 'labelled']) {
      await expect
        .poll(
          async () =>
            (await environment.temporal.workflow.count(`HoldfastUser = '${user}' AND HoldfastApp = 'test'`))
              .count,
        )
        .toBe(1);
    }
  });

  test('a cancelled turn leaves a session that the next turn continues [turn.cancel]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'waits' }, { name: 'add', args: { a: 1, b: 1 } }]]));
    const names = { app: 'test', userId: 'ada', sessionId: 'cancelled' };
    const waiting = Promise.withResolvers<void>();
    const stop = environment.store.live.onNotice((notice) => {
      if (notice.type === 'call started' && notice.tool === 'waits') waiting.resolve();
    });
    const added = settledCalls(environment.store, 'add', 1);
    const handle = await environment.client.sendMessage({ ...names, message: 'go' });
    await Promise.all([waiting.promise, added]);
    stop();
    await environment.temporal.workflow.getHandle(handle.workflowId).cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(await environment.store.turns.findInvocation(names, handle.invocationId)).toMatchObject({
      status: 'interrupted',
    });

    environment.gemini.reset([text('still here')]);
    const next = await environment.run({ ...names, message: 'are you there?' });
    expect(next.result).toMatchObject({ status: 'completed', text: 'still here' });
    const [waits, sum] = responses(next) as { error?: string }[];
    expect(waits?.error).toMatch(/cut off/);
    expect(sum).toEqual({ sum: 2 });
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('arguments that disagree with the workflow id fail the run with a typed error [turn.start]', async () => {
    const start = (args: object, workflowId = 'test/u/s') =>
      environment.temporal.workflow.execute('agentTurn', { workflowId, taskQueue: 'holdfast', args: [args] });
    const good = { app: 'test', userId: 'u', sessionId: 's', message: 'hi' };
    for (const [args, problem] of [
      [{ ...good, sessionId: 'other' }, /belong to the workflow id test\/u\/other/],
      [{ ...good, message: '  ' }, /message: expected text that isn’t blank/],
      [{ ...good, message: { parts: [] } }, /message\.parts: expected at least one part/],
      [{ ...good, userId: '' }, /userId: expected a non-empty string/],
      [{ ...good, v: 99 }, /v: expected a version up to 1/],
      [
        { ...good, runConfig: { maxLlmCalls: 'many' } },
        /runConfig\.maxLlmCalls: expected a whole number or nothing, got string/,
      ],
    ] as const) {
      await expect(start(args)).rejects.toMatchObject({
        cause: { type: 'InvalidStart', message: expect.stringMatching(problem) },
      });
    }
  });
});
