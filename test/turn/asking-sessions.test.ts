import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { settledCalls } from '../setup/settled-calls.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let log: unknown[] = [];
const agent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  tools: [
    tool({
      name: 'pay',
      description: 'd',
      parameters: z.object({ amount: z.number() }),
      requireConfirmation: true,
      execute: ({ amount }) => {
        log.push(['runs', amount]);
        return { paid: amount };
      },
    }),
    tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
  ],
  beforeToolCallback: ({ tool: { name }, args, context }) => {
    if (name !== 'pay') return undefined;
    log.push(['before', args.amount]);
    context.state.set('asked', Number(context.state.get('asked') ?? 0) + 1);
    args.amount = Number(args.amount) + 100;
    return undefined;
  },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [agent] });
});
beforeEach(() => {
  log = [];
});
afterAll(() => environment.close());

async function asked(): Promise<AskingTurn> {
  environment.gemini.reset(
    stepCalls([
      [
        { name: 'pay', args: { amount: 1 } },
        { name: 'look', args: {} },
      ],
    ]),
  );
  const looked = settledCalls(environment.store, 'look', 1);
  const turn = await AskingTurn.start(environment);
  await looked;
  return turn;
}

const called = (amount: number) => ({ name: 'pay', args: { amount } });
const lastContents = () => contentsOf(environment.gemini.requests.at(-1));
const stateOf = async (names: AskingTurn['names']) =>
  (await environment.client.sessions.get(names))?.state ?? {};

describe('a session in which people are asked', () => {
  test('is retried from a call that waited: people are asked anew, callbacks are not [session.retry] [confirm.callbacks]', async () => {
    const turn = await asked();
    const [request] = await turn.pending();
    await turn.handle.signal('interrupt', {});
    await turn.result();
    const retry = await environment.client.sessions.retry({
      ...turn.names,
      callKey: request?.callKey ?? '',
    });
    const [again] = await turn.pending();
    expect(again).toMatchObject({ status: 'pending', args: { amount: 101 } });
    expect(again?.requestId).not.toBe(request?.requestId);
    await turn.confirm({ requestId: again?.requestId ?? '', confirmed: true });
    expect(await retry.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(log).toEqual([
      ['before', 1],
      ['runs', 101],
    ]);
    expect(await stateOf(turn.names)).toEqual({ asked: 1 });
    expect((await turn.requests()).map(({ status }) => status).toSorted()).toEqual(['approved', 'cancelled']);
    expect(lastContents().flatMap(({ parts = [] }) => parts)).toMatchObject([
      { text: 'go' },
      { functionCall: { name: 'pay', args: { amount: 1 } } },
      { functionCall: { name: 'look' } },
      { functionResponse: { name: 'pay', response: { paid: 101 } } },
      { functionResponse: { name: 'look', response: { seen: true } } },
    ]);
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('is retried after an interruption: what that has cut off is asked anew, too [session.retry]', async () => {
    environment.gemini.reset(stepCalls([[called(1), called(2)]]));
    const turn = await AskingTurn.start(environment);
    const [request] = await turn.pending(2);
    await turn.handle.signal('interrupt', {});
    await turn.result();
    const retry = await environment.client.sessions.retry({
      ...turn.names,
      callKey: request?.callKey ?? '',
    });
    for (const { requestId } of await turn.pending(2)) await turn.confirm({ requestId, confirmed: true });
    await retry.result();
    expect(log.slice(2).toSorted()).toEqual([
      ['runs', 101],
      ['runs', 102],
    ]);
  });

  test('is forked while it waits: the fork goes on without the call, and answers nothing of the other [session.fork] [confirm.events]', async () => {
    const turn = await asked();
    const [request] = await turn.pending();
    const to = randomUUID();
    await environment.client.sessions.fork({ ...turn.names, to });
    const forked = { ...turn.names, sessionId: to };
    environment.gemini.reset(stepCalls([]));
    const next = await environment.client.sendMessage({ ...forked, message: 'and now?' });
    expect(await next.result()).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(lastContents())).not.toMatch(/adk_request|functionCall/);
    expect(environment.gemini.refusals).toEqual([]);
    const reply = {
      functionResponse: {
        id: request?.requestId ?? '',
        name: 'adk_request_confirmation',
        response: { confirmed: true },
      },
    };
    const answer = environment.client.sendMessage({ ...forked, message: { role: 'user', parts: [reply] } });
    await expect(answer).rejects.toThrow(request?.requestId);
    expect(await environment.store.approvals.list(forked)).toEqual([]);
    // Nothing of it has reached the turn that waits.
    expect(await turn.pending()).toMatchObject([{ status: 'pending' }]);
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: 101 }, { seen: true }]);
  });

  test('is rewound to before somebody was asked: nothing of it is left [session.rewind] [confirm.events]', async () => {
    const turn = await asked();
    await turn.pending();
    await turn.confirm({ confirmed: true });
    const { invocationId } = await turn.result();
    await environment.client.sessions.rewind({ ...turn.names, beforeInvocationId: invocationId });
    environment.gemini.reset(stepCalls([]));
    await turn.send({ message: 'again' });
    await turn.result();
    expect(lastContents()).toMatchObject([{ role: 'user', parts: [{ text: 'again' }] }]);
    expect(await stateOf(turn.names)).not.toHaveProperty('asked', 1);
  });
});
