import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { SingleAfterToolCallback, SingleBeforeToolCallback } from '../../src/agents/callbacks.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Event } from '../../src/events/event.ts';
import { getFunctionCalls, isFinalResponse } from '../../src/events/event.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let before: SingleBeforeToolCallback | undefined;
let after: SingleAfterToolCallback | undefined;
let requires: (args: Record<string, unknown>, context: Context) => unknown;
let onEvent: ((event: Event) => Event | undefined) | undefined;
let execute: (args: Record<string, unknown>, context: Context) => unknown;
/** What has happened, in order. */
let log: string[] = [];

const parameters = z.object({ amount: z.number() });
const run = (args: Record<string, unknown>, context: Context) => {
  log.push(`runs with ${args.amount}`);
  return execute(args, context);
};
const options = { description: 'd', parameters, execute: run } as const;
const pay = tool({ ...options, name: 'pay', requireConfirmation: true });
const tools = [
  pay,
  tool({
    ...options,
    name: 'pay_much',
    requireConfirmation: (args, context) => requires(args, context) as boolean,
  }),
  tool({ ...options, name: 'editable', requireConfirmation: true, approval: { allowEdit: true } }),
  tool({ ...options, name: 'expiring', requireConfirmation: true, approval: { expiresIn: 300 } }),
  tool({
    ...options,
    name: 'secret',
    requireConfirmation: true,
    sensitive: ['amount'],
    confirmationHint: ({ amount }) => `pay ${amount}?`,
  }),
  tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
];
const agent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  tools,
  beforeToolCallback: (call) => before?.(call),
  afterToolCallback: (call) => after?.(call),
});
class Watch extends BasePlugin {
  override async onEventCallback({ event }: { event: Event }) {
    return onEvent?.(event);
  }
}
const app = new App({ name: 'watched', rootAgent: agent, plugins: [new Watch('watch')] });

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ apps: [app, new App({ name: 'test', rootAgent: agent })] });
});
beforeEach(() => {
  before = undefined;
  after = undefined;
  onEvent = undefined;
  requires = () => true;
  execute = ({ amount }) => ({ paid: amount });
  log = [];
});
afterAll(() => environment.close());

const called = (name: string, amount: unknown = 5) => ({ name, args: { amount } });
async function asked(...calls: ReturnType<typeof called>[]): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([calls]));
  return await AskingTurn.start(environment);
}

describe('a gated call', () => {
  test('asks by an event behind its model event, without placeholders, and runs once it is approved [confirm.require] [confirm.events]', async () => {
    const turn = await asked(called('pay'), called('look'), called('pay', 7));
    const requests = await turn.pending(2);
    const [, asking, request, ...rest] = await turn.events();
    expect(rest).toEqual([]);
    const ids = getFunctionCalls(asking?.event as Event).map(({ id = '' }) => id);
    const [first, second] = requests.map(({ requestId }) => requestId);
    const hint =
      'Please approve or reject the tool call pay() by responding with a FunctionResponse with an expected ToolConfirmation payload.';
    const toolConfirmation = { hint, confirmed: false };
    expect(request).toMatchObject({
      kind: 'request',
      step: 1,
      event: {
        author: 'cashier',
        longRunningToolIds: [first, second],
        content: {
          role: 'user',
          parts: [
            {
              functionCall: {
                id: first,
                name: 'adk_request_confirmation',
                args: {
                  originalFunctionCall: { id: ids[0], name: 'pay', args: { amount: 5 } },
                  toolConfirmation,
                },
              },
            },
            { functionCall: { id: second, args: { originalFunctionCall: { id: ids[2] } } } },
          ],
        },
        actions: {
          requestedToolConfirmations: { [ids[0] ?? '']: toolConfirmation, [ids[2] ?? '']: toolConfirmation },
        },
      },
    });
    expect(isFinalResponse(request?.event as Event)).toBe(true);
    expect(requests[0]).toMatchObject({
      kind: 'confirmation',
      tool: 'pay',
      agent: 'cashier',
      path: ['cashier'],
      args: { amount: 5 },
      hint,
      status: 'pending',
    });
    expect(log).toEqual([]);

    await turn.confirm({ requestId: second, confirmed: true });
    await turn.confirm({ requestId: first, confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: 5 }, { seen: true }, { paid: 7 }]);
    expect(log.toSorted()).toEqual(['runs with 5', 'runs with 7']);
    const sent = contentsOf(environment.gemini.requests.at(-1));
    expect(JSON.stringify(sent)).not.toContain('adk_request');
    expect((await turn.requests()).map(({ status }) => status)).toEqual(['approved', 'approved']);
  });

  test('asks only where its predicate says so, by the words that it says; one that throws lets nothing run [confirm.require] [confirm.hint]', async () => {
    requires = ({ amount }) => {
      if (amount === 13) throw new Error('unlucky');
      return Number(amount) > 10 && { hint: `pay ${amount}?`, payload: { limit: 10 } };
    };
    const turn = await asked(called('pay_much', 5), called('pay_much', 12), called('pay_much', 13));
    const [request] = await turn.pending();
    expect(request).toMatchObject({ hint: 'pay 12?', payload: { limit: 10 }, args: { amount: 12 } });
    await turn.confirm({ confirmed: true });
    const responses = await turn.responses();
    expect(responses).toMatchObject([
      { paid: 5 },
      { paid: 12 },
      { error: expect.stringContaining('unlucky') },
    ]);
    expect(log.toSorted()).toEqual(['runs with 12', 'runs with 5']);
  });

  test('of invalid arguments asks nobody [confirm.require]', async () => {
    const turn = await asked(called('pay', 'much'));
    expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('invalid arguments') }]);
    expect(await turn.requests()).toEqual([]);
    expect(log).toEqual([]);
  });

  test('that is rejected never runs; its response says so, and why [confirm.rejected] [confirm.default]', async () => {
    after = ({ response }) => {
      log.push(`after ${JSON.stringify(response)}`);
      return undefined;
    };
    const turn = await asked(called('pay'), called('look'));
    await turn.pending();
    const found = await environment.store.sessions.find(turn.names);
    const heard: string[] = [];
    const stop = environment.store.live.watch(found?.session ?? '', (notice) => {
      if (notice.type === 'call started' || notice.type === 'call finished') {
        heard.push(`${notice.type}: ${notice.tool}`);
      }
    });
    await turn.confirm({ confirmed: false, reason: 'too much' });
    const rejection = { error: 'This tool call is rejected.', reason: 'too much' };
    expect(await turn.responses()).toEqual([rejection, { seen: true }]);
    expect(log.toSorted()).toEqual([`after {"seen":true}`, `after ${JSON.stringify(rejection)}`].toSorted());
    await expect.poll(() => heard).toContain('call finished: pay');
    expect(heard).not.toContain('call started: pay');
    stop();
  });

  test('that nobody decides in time is settled as rejected [approval.expiry]', async () => {
    const turn = await asked(called('expiring'));
    expect(await turn.responses()).toEqual([
      { error: 'This tool call is rejected.', reason: expect.any(String) },
    ]);
    expect(log).toEqual([]);
    expect(await turn.requests()).toMatchObject([{ status: 'expired' }]);
  });

  test('gets the decision and its payload [confirm.require]', async () => {
    execute = (_args, { toolConfirmation }) => ({ ...toolConfirmation });
    const turn = await asked(called('pay'));
    await turn.pending();
    await turn.confirm({ confirmed: true, payload: { by: 'Ada' } });
    expect(await turn.responses()).toMatchObject([{ confirmed: true, payload: { by: 'Ada' } }]);
  });

  test('runs with edited arguments where that is allowed [approval.edit]', async () => {
    const turn = await asked(called('editable'));
    await turn.pending();
    const refused = await turn.confirm({ confirmed: true, args: { amount: 'none' } });
    expect(refused).toMatchObject({ status: 'refused' });
    await turn.confirm({ confirmed: true, args: { amount: 4 } });
    expect(await turn.responses()).toEqual([{ paid: 4 }]);
    expect(log).toEqual(['runs with 4']);
  });

  test('that is cancelled while it waits is not run, and its request is closed [confirm.answered]', async () => {
    const turn = await asked(called('pay'));
    await turn.pending();
    await turn.handle.signal('interrupt', { reason: 'never mind' });
    await turn.result();
    expect(await turn.requests()).toMatchObject([{ status: 'cancelled' }]);
    expect(log).toEqual([]);
  });

  test('keeps what its tool keeps to itself out of the history [confirm.hint]', async () => {
    execute = () => ({ paid: true });
    const turn = await asked(called('secret', 987_654_321));
    const [request] = await turn.pending();
    expect(request?.hint).toBe('pay 987654321?');
    await turn.confirm({ confirmed: true });
    await turn.result();
    expect(log).toEqual(['runs with 987654321']);
    const payloads = (await turn.history()).replaceAll(/"data":"([^"]*)"/g, (_all, data: string) =>
      Buffer.from(data, 'base64').toString(),
    );
    expect(payloads).not.toContain('987654321');
  });
});

describe('callbacks of a gated call', () => {
  test('run once, before anybody is asked: who decides sees what will run [confirm.callbacks]', async () => {
    before = ({ args, context }) => {
      log.push(`before ${args.amount}`);
      context.state.set('seen', args.amount);
      args.amount = Number(args.amount) + 100;
      return undefined;
    };
    const turn = await asked(called('pay', 1));
    const [request] = await turn.pending();
    expect(request?.args).toEqual({ amount: 101 });
    expect(log).toEqual(['before 1']);
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: 101 }]);
    expect(log).toEqual(['before 1', 'runs with 101']);
    const [asking] = (await turn.events()).filter(({ kind }) => kind === 'model');
    expect(getFunctionCalls(asking?.event as Event)[0]?.args).toEqual({ amount: 1 });
    const merged = (await turn.events()).find(({ kind }) => kind === 'responses');
    expect(merged?.event.actions.stateDelta).toEqual({ seen: 1 });
  });

  test('of a tool that could be gated run once, too, where it runs at once; what they did counts [confirm.callbacks]', async () => {
    requires = () => false;
    before = ({ args, context }) => {
      log.push('before');
      context.state.set('seen', context.functionCallId !== undefined && context.callKey !== '');
      args.amount = 2;
      return undefined;
    };
    const turn = await asked(called('pay_much'));
    expect(await turn.responses()).toEqual([{ paid: 2 }]);
    expect(log).toEqual(['before', 'runs with 2']);
    const merged = (await turn.events()).find(({ kind }) => kind === 'responses');
    expect(merged?.event.actions.stateDelta).toEqual({ seen: true });
  });

  test('may answer in the place of the tool, or fail: nobody is asked [confirm.callbacks]', async () => {
    before = ({ args, context }) => {
      if (args.amount === 2) throw new Error('no such luck');
      context.state.set('answered', true);
      return { cached: true };
    };
    after = ({ response }) => ({ ...response, after: true });
    const turn = await asked(called('pay', 1), called('pay', 2));
    expect(await turn.responses()).toEqual([
      { cached: true, after: true },
      { error: expect.stringContaining('no such luck'), after: true },
    ]);
    expect(await turn.requests()).toEqual([]);
    expect(log).toEqual([]);
    const merged = (await turn.events()).find(({ kind }) => kind === 'responses');
    expect(merged?.event.actions.stateDelta).toEqual({ answered: true });
  });

  test('may ask themselves: one approval is enough [confirm.callbacks] [confirm.inside]', async () => {
    before = ({ context }) => {
      log.push('before');
      context.requestConfirmation({ hint: 'says the callback' });
      return { partial: 'needs confirmation' };
    };
    const turn = await asked(called('pay'));
    expect(await turn.pending()).toMatchObject([{ hint: 'says the callback' }]);
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: 5 }]);
    expect(log).toEqual(['before', 'runs with 5']);
  });

  test('of plugins see the request, and change nothing of what it asks [confirm.events]', async () => {
    onEvent = (event) => {
      if (event.longRunningToolIds?.length === 0 || event.longRunningToolIds === undefined) return undefined;
      return {
        ...event,
        longRunningToolIds: [],
        customMetadata: { seen: true },
        content: { role: 'user', parts: [{ text: 'nothing is asked' }] },
      };
    };
    environment.gemini.reset(stepCalls([[called('pay')]]));
    const turn = await AskingTurn.start(environment, { app: 'watched', agent: 'cashier' });
    const [request] = await turn.pending();
    const [event] = (await turn.events()).filter(({ kind }) => kind === 'request');
    expect(event?.event).toMatchObject({
      customMetadata: { seen: true },
      longRunningToolIds: [request?.requestId],
      content: { parts: [{ functionCall: { id: request?.requestId, name: 'adk_request_confirmation' } }] },
    });
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ paid: 5 }]);
  });
});
