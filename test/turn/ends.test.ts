import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const add = tool({ name: 'add', description: 'adds', execute: () => ({ sum: 2 }) });
const ends = tool({
  name: 'ends',
  description: 'ends the turn with its result',
  execute: (_args, context) => {
    context.actions.skipSummarization = true;
    return { ended: true };
  },
});

/** How the store calls what Temporal calls so. */
const AGREED: Record<string, string> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'interrupted',
};

describe('the start and the end of a turn', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [add, ends] })],
    });
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => environment.close());

  /** Has a call of the store wait, before or after it is done, until the returned function is called. */
  function hold(method: 'settleStep' | 'commitStep', when: 'before' | 'after') {
    const { turns } = environment.store;
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const original = turns[method].bind(turns) as (input: unknown) => Promise<unknown>;
    vi.spyOn(turns, method).mockImplementation((async (input: unknown) => {
      const before = when === 'before' ? undefined : await original(input);
      reached.resolve();
      await released.promise;
      return when === 'before' ? await original(input) : before;
    }) as never);
    return { reached: reached.promise, release: released.resolve };
  }

  async function start(runConfig?: { maxLlmCalls: number }) {
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({
      ...names,
      message: 'go',
      ...(runConfig ? { runConfig } : {}),
    });
    const handle = environment.temporal.workflow.getHandle(turn.workflowId, turn.runId);
    return {
      cancel: () => handle.cancel(),
      /** Resolves when the workflow has acted on its cancellation. */
      async knowsOfCancel() {
        const acted = async () => {
          const events = (await handle.fetchHistory()).events ?? [];
          const asked = events.findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes);
          return (
            asked >= 0 && events.slice(asked).some((event) => event.workflowTaskCompletedEventAttributes)
          );
        };
        await expect.poll(acted).toBe(true);
      },
      async ended() {
        await turn.result().catch(() => undefined);
        const { status } = await handle.describe();
        const recorded = await environment.store.turns.findInvocation(names, turn.invocationId);
        return { temporal: status.name, store: recorded?.status };
      },
    };
  }

  test.each([
    ['settleStep', 'before'],
    ['settleStep', 'after'],
    ['commitStep', 'before'],
    ['commitStep', 'after'],
  ] as const)(
    'cancelled while %s writes its end, held %s the write: what is written counts [turn.end]',
    async (method, when) => {
      environment.gemini.reset(() => (method === 'settleStep' ? call('ends') : text('hello')));
      const held = hold(method, when);
      const turn = await start();
      // The first step of a turn that only ends in `settleStep` is not held.
      await held.reached;
      await turn.cancel();
      await turn.knowsOfCancel();
      held.release();
      expect(await turn.ended()).toEqual({ temporal: 'COMPLETED', store: 'completed' });
    },
  );

  test('cancelled while the end of its budget is written, it has failed [turn.end] [turn.maxLlmCalls]', async () => {
    environment.gemini.reset(() => call('add'));
    const held = hold('settleStep', 'before');
    const turn = await start({ maxLlmCalls: 1 });
    await held.reached;
    await turn.cancel();
    await turn.knowsOfCancel();
    held.release();
    expect(await turn.ended()).toEqual({ temporal: 'FAILED', store: 'failed' });
  });

  test.each(['ends', 'add'])('cancelled when the call %s is settled, both agree [turn.end]', async (name) => {
    environment.gemini.reset(() => call(name));
    const settled = Promise.withResolvers<void>();
    const stop = environment.store.live.onNotice((notice) => {
      if (notice.type === 'call finished') settled.resolve();
    });
    const turn = await start({ maxLlmCalls: 2 });
    await settled.promise;
    stop();
    await turn.cancel();
    const { temporal, store } = await turn.ended();
    expect(store).toBe(AGREED[temporal]);
  });

  test('a turn that names no agent is found by the one that answered [turn.searchAttributes]', async () => {
    environment.gemini.reset([text('hi')]);
    await environment.run({ message: 'hi', userId: 'agentless' });
    const count = async () =>
      (
        await environment.temporal.workflow.count(
          `HoldfastUser = 'agentless' AND HoldfastAgent = 'support' AND HoldfastApp = 'test'`,
        )
      ).count;
    await expect.poll(count).toBe(1);
  });

  const execute = (userId: string, fields: object) =>
    environment.temporal.workflow.execute('agentTurn', {
      workflowId: `test/${userId}/s`,
      taskQueue: 'holdfast',
      args: [{ app: 'test', userId, sessionId: 's', message: 'hi', ...fields }],
    });

  test.each<[string, object, RegExp]>([
    ['a part that is null', { message: { parts: [null] } }, /message\.parts\[0\]: .*got null/],
    ['a part that is empty', { message: { parts: [{ text: 'hi' }, {}] } }, /message\.parts\[1\]: /],
    ['a part that is text', { message: { parts: ['hi'] } }, /message\.parts\[0\]: .*got string/],
    ['another streaming mode', { runConfig: { streamingMode: 'SSE' } }, /runConfig\.streamingMode: /],
    ['another type of agent', { agent: 5 }, /agent: expected a non-empty string .* or nothing, got number/],
  ])('start arguments with %s are refused, the field named [turn.start]', async (_name, fields, problem) => {
    await expect(execute('refused', fields)).rejects.toMatchObject({
      cause: { type: 'InvalidStart', message: expect.stringMatching(problem) },
    });
  });

  test.each<[string, object]>([
    ['fields', { v: null, agent: null, messageId: null, stateDelta: null, runConfig: null }],
    ['fields of runConfig', { runConfig: { maxLlmCalls: null, streamingMode: null } }],
    ['the role of a message', { message: { role: null, parts: [{ text: 'hi' }] } }],
    ['fields of a part', { message: { parts: [{ text: 'hi', functionCall: null, inlineData: null }] } }],
  ])('null counts as absent in %s [turn.start]', async (_name, fields) => {
    environment.gemini.reset([text('hello')]);
    expect(await execute('nulls', fields)).toMatchObject({ status: 'completed', text: 'hello' });
  });
});
