import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SingleBeforeToolCallback } from '../../src/agents/callbacks.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Event } from '../../src/events/event.ts';
import { getFunctionCalls } from '../../src/events/event.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let before: SingleBeforeToolCallback | undefined;
let execute: (args: Record<string, unknown>, context: Context) => unknown;
let log: string[] = [];

const run = (args: Record<string, unknown>, context: Context) => execute(args, context);
const options = { description: 'd', execute: run } as const;
const parameters = { type: 'object', properties: { amount: { type: 'number' } } } as const;
const agent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  tools: [
    tool({ ...options, name: 'order', parameters }),
    tool({ ...options, name: 'order_gated', parameters, requireConfirmation: true }),
    tool({ ...options, name: 'order_inline', parameters, execution: 'inline' }),
    tool({ ...options, name: 'order_alone', parameters, isConcurrencySafe: false }),
    tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
  ],
  beforeToolCallback: (call) => before?.(call),
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [agent] });
});
beforeEach(() => {
  before = undefined;
  log = [];
});
afterAll(() => environment.close());

async function asked(...names: string[]): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([names.map((name) => ({ name, args: { amount: 5 } }))]));
  return await AskingTurn.start(environment);
}

describe('a tool that asks while it runs', () => {
  const ordering = async (args: Record<string, unknown>, context: Context) => {
    const price = await context.once('price', () => {
      log.push('asks for the price');
      return Number(args.amount) * 10;
    });
    context.state.set('price', price);
    const { toolConfirmation } = context;
    if (toolConfirmation === undefined) {
      context.requestConfirmation({ hint: `Order for ${price}?`, payload: { price } });
      return { status: 'asking' };
    }
    log.push(`goes on: ${toolConfirmation.confirmed}`);
    return toolConfirmation.confirmed
      ? { ordered: price, payload: toolConfirmation.payload }
      : { ordered: 0 };
  };

  test.for(['order', 'order_inline', 'order_alone'])(
    'runs again with the answer, its siblings meanwhile: %s [confirm.inside] [confirm.siblings]',
    async (name) => {
      execute = ordering;
      const turn = await asked(name, 'look');
      const [request] = await turn.pending();
      expect(request).toMatchObject({ kind: 'confirmation', hint: 'Order for 50?', payload: { price: 50 } });
      const event = (await turn.events()).find(({ kind }) => kind === 'request');
      expect(getFunctionCalls(event?.event as Event)).toMatchObject([
        {
          id: request?.requestId,
          args: { toolConfirmation: { hint: 'Order for 50?', payload: { price: 50 } } },
        },
      ]);
      // What it wrote is written when it runs again.
      expect(event?.event.actions.stateDelta).toEqual({});
      await turn.confirm({ requestId: request?.requestId ?? '', confirmed: true, payload: { by: 'Ada' } });
      expect(await turn.responses()).toEqual([{ ordered: 50, payload: { by: 'Ada' } }, { seen: true }]);
      expect(log).toEqual(['asks for the price', 'goes on: true']);
      const merged = (await turn.events()).find(({ kind }) => kind === 'responses');
      expect(merged?.event.actions.stateDelta).toEqual({ price: 50 });
    },
  );

  test('runs again after a rejection, too: it decides what comes of it [confirm.inside] [confirm.rejected]', async () => {
    execute = ordering;
    const turn = await asked('order');
    await turn.pending();
    await turn.confirm({ confirmed: false });
    expect(await turn.responses()).toEqual([{ ordered: 0 }]);
    expect(log).toEqual(['asks for the price', 'goes on: false']);
  });

  test('may ask several times, and what it throws when it has asked is no failure [confirm.inside] [confirm.many]', async () => {
    execute = (_args, context) => {
      const level = Number((context.toolConfirmation?.payload as { level?: number } | undefined)?.level ?? 0);
      log.push(`level ${level}`);
      if (level === 3) return { level };
      context.requestConfirmation({ hint: `level ${level}`, payload: { level: level + 1 } });
      throw new ToolError('asks first');
    };
    const turn = await asked('order');
    for (const n of [1, 2, 3]) {
      const [request] = await turn.pending();
      expect(request?.requestId.endsWith(`.${n}`)).toBe(true);
      await turn.confirm({ requestId: request?.requestId ?? '', confirmed: true });
      await expect.poll(() => log.length).toBe(n + 1);
    }
    expect(await turn.responses()).toEqual([{ level: 3 }]);
    expect(log).toEqual(['level 0', 'level 1', 'level 2', 'level 3']);
  });

  test('goes on with the arguments that callbacks had rewritten, and without asking them again [confirm.callbacks] [confirm.inside]', async () => {
    before = ({ args, context }) => {
      log.push('before');
      context.state.set('before', args.amount);
      args.amount = Number(args.amount) + 1;
      return undefined;
    };
    execute = (args, context) => {
      log.push(`runs with ${args.amount}, ${context.state.get('before')}`);
      if (context.toolConfirmation === undefined) context.requestConfirmation({ hint: 'well?' });
      return { amount: args.amount };
    };
    const turn = await asked('order');
    const [request] = await turn.pending();
    expect(request?.args).toEqual({ amount: 6 });
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ amount: 6 }]);
    expect(log).toEqual(['before', 'runs with 6, 5', 'runs with 6, 5']);
  });

  test('or whose callback asks: the callback hears the answer [confirm.inside] [confirm.callbacks]', async () => {
    before = ({ context }) => {
      const { toolConfirmation } = context;
      log.push(`before: ${toolConfirmation?.confirmed}`);
      if (toolConfirmation === undefined) {
        context.requestConfirmation({ hint: 'policy' });
        return { partial: 'needs confirmation' };
      }
      return toolConfirmation.confirmed ? undefined : { error: 'rejected by policy' };
    };
    execute = () => ({ ordered: true });
    const turn = await asked('order', 'order');
    const [first, second] = await turn.pending(2);
    await turn.confirm({ requestId: first?.requestId ?? '', confirmed: false });
    await turn.confirm({ requestId: second?.requestId ?? '', confirmed: true });
    expect(await turn.responses()).toEqual([{ error: 'rejected by policy' }, { ordered: true }]);
    expect(log.toSorted()).toEqual([
      'before: false',
      'before: true',
      'before: undefined',
      'before: undefined',
    ]);
  });

  test('after a gate: first the one, then the other, the latest answer counts [confirm.inside] [confirm.many]', async () => {
    execute = (_args, context) => {
      log.push(`runs: ${context.toolConfirmation?.hint}`);
      if (context.toolConfirmation?.hint !== 'really?') context.requestConfirmation({ hint: 'really?' });
      return { ordered: context.toolConfirmation?.confirmed };
    };
    const turn = await asked('order_gated');
    const [gate] = await turn.pending();
    await turn.confirm({ confirmed: true });
    await expect.poll(() => log.length).toBe(1);
    const [inside] = await turn.pending();
    expect(inside?.requestId).not.toBe(gate?.requestId);
    await turn.confirm({ requestId: inside?.requestId ?? '', confirmed: true });
    expect(await turn.responses()).toEqual([{ ordered: true }]);
    expect(log[1]).toBe('runs: really?');
  });

  test('is started once for an approval: what it throws then is its outcome [confirm.once]', async () => {
    execute = (_args, context) => {
      log.push('runs');
      if (context.toolConfirmation === undefined) context.requestConfirmation({ hint: 'well?' });
      throw new Error('no luck');
    };
    const turn = await asked('order');
    await turn.pending();
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('no luck') }]);
    expect(log).toEqual(['runs', 'runs']);
  });

  if (isDeep) {
    test('that never has enough is ended [confirm.inside]', async () => {
      execute = (_args, context) => {
        context.requestConfirmation({ hint: 'again?' });
        return {};
      };
      const turn = await asked('order');
      const result = turn.result();
      let isOver = false;
      void result.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        const [request] = await environment.store.approvals.list(turn.names);
        if (request !== undefined) await turn.signal({ requestId: request.requestId, confirmed: true });
      }
      expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('too often') }]);
      expect((await turn.requests()).length).toBeGreaterThan(10);
    });
  }
});
