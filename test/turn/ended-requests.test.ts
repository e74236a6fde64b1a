import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type {
  SingleAfterToolCallback,
  SingleBeforeToolCallback,
  SingleOnToolErrorCallback,
} from '../../src/agents/callbacks.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ToolCallRecord } from '../../src/tools/invocation-context.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { beating } from '../setup/beating.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let onError: SingleOnToolErrorCallback | undefined;
/** What callbacks and plugins were told, in order. */
let log: unknown[] = [];

/** Changes arguments, and writes to the state; each call has a key of its own. */
const before: SingleBeforeToolCallback = ({ args, context }) => {
  // As an edit leaves them.
  if (Number(args.amount) > 100) return undefined;
  log.push(['before', args.amount]);
  const seen = Number(context.state.get(`seen${args.amount}`) ?? 0);
  context.state.set(`seen${args.amount}`, seen + 1);
  args.amount = Number(args.amount) + 100;
  return undefined;
};
const after: SingleAfterToolCallback = ({ args, response }) => {
  log.push(['after', args.amount, response]);
  return undefined;
};

let begun = Promise.withResolvers<void>();
const parameters = z.object({ amount: z.number() });
const options = { description: 'd', parameters, requireConfirmation: true } as const;
const tools = [
  tool({ ...options, name: 'pay', execute: ({ amount }) => ({ paid: amount }) }),
  tool({
    ...options,
    name: 'pay_slowly',
    approval: { allowEdit: true },
    execute: async (_args, context) => {
      begun.resolve();
      await beating(context, new Promise(() => undefined));
      return {};
    },
  }),
  tool({
    ...options,
    name: 'pay_never',
    retry: { maximumAttempts: 1 },
    execute: () => {
      throw new Error('no money');
    },
  }),
  tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
];
const heard = new LlmAgent({
  name: 'heard',
  model: 'gemini-2.5-flash',
  tools,
  beforeToolCallback: before,
  afterToolCallback: after,
  onToolErrorCallback: (call) => onError?.(call),
});
/** Nobody asks about what becomes of its calls. */
const unheard = new LlmAgent({
  name: 'unheard',
  model: 'gemini-2.5-flash',
  tools,
  beforeToolCallback: before,
});
class Watch extends BasePlugin {
  override async onToolCallCompleted({ call: { name, args, response } }: { call: ToolCallRecord }) {
    log.push(['completed', name, args, response]);
  }
}
const agentOf = (name: string) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', tools, beforeToolCallback: before });
const apps = [
  new App({
    name: 'short',
    rootAgent: agentOf('hurried'),
    durable: { budgets: { turn: { time: '5 seconds' } } },
  }),
  new App({ name: 'watched', rootAgent: agentOf('watched'), plugins: [new Watch('watch')] }),
];

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [heard, unheard], apps });
});
beforeEach(() => {
  onError = undefined;
  log = [];
  begun = Promise.withResolvers();
});
afterAll(() => environment.close());

const called = (name: string, amount: number) => ({ name, args: { amount } });

async function asked(given: { agent: string; app?: string }, ...calls: ReturnType<typeof called>[]) {
  environment.gemini.reset(stepCalls([calls]));
  return await AskingTurn.start(environment, given);
}

const callKeyOf = (requestId = '') => requestId.slice('rq-'.length, requestId.lastIndexOf('.'));

/** Requests are in the store before the workflow has heard of them. */
async function cancelled(turn: AskingTurn, callKey: string): Promise<void> {
  await expect
    .poll(() =>
      turn.handle.executeUpdate('cancelCall', { args: [{ callKey }] }).then(() => 'cancelled', String),
    )
    .toBe('cancelled');
}

async function stateOf(turn: AskingTurn): Promise<Record<string, unknown>> {
  const session = await environment.client.sessions.get(turn.names);
  return session?.state ?? {};
}

/** The audit of the turn's session: what happened to each request, in order; its chain is whole. */
async function auditOf(turn: AskingTurn): Promise<string[]> {
  const { session = '' } = (await environment.store.sessions.find(turn.names)) ?? {};
  expect(await environment.store.approvals.verifyAudit(session)).toMatchObject({ ok: true });
  return (await environment.store.sessions.readAudit(session)).map(({ kind }) => kind);
}

describe('the callbacks of a gated call', () => {
  test('that is cancelled while it waits see its arguments as callbacks left them; what those did is kept, once [confirm.callbacks] [steer.cancelCall]', async () => {
    onError = ({ args, context, error }) => {
      log.push(['error', args.amount, context.state.get('seen1'), error.message]);
      context.state.set('told', true);
      return undefined;
    };
    const turn = await asked({ agent: 'heard' }, called('pay', 1), called('look', 7));
    const [request] = await turn.pending();
    expect(request?.args).toEqual({ amount: 101 });
    await cancelled(turn, callKeyOf(request?.requestId));
    const cancellation = { error: 'cancelled by an operator' };
    expect(await turn.responses()).toEqual([cancellation, { seen: true }]);
    expect(log.filter((told) => (told as unknown[])[1] !== 107)).toEqual([
      ['before', 1],
      ['before', 7],
      ['error', 101, 1, cancellation.error],
      ['after', 101, cancellation],
    ]);
    expect(await stateOf(turn)).toMatchObject({ seen1: 1, told: true });
    expect(await turn.requests()).toMatchObject([{ status: 'cancelled', reason: cancellation.error }]);
    expect(await auditOf(turn)).toEqual(['requested', 'cancelled']);
  });

  test('that runs with edited arguments when it is cancelled see those [confirm.callbacks] [approval.edit]', async () => {
    onError = ({ args }) => void log.push(['error', args.amount]);
    const turn = await asked({ agent: 'heard' }, called('pay_slowly', 1));
    const [request] = await turn.pending();
    expect(await turn.confirm({ confirmed: true, args: { amount: 155 } })).toMatchObject({
      status: 'approved',
    });
    await begun.promise;
    await cancelled(turn, callKeyOf(request?.requestId));
    expect(await turn.responses()).toEqual([{ error: 'cancelled by an operator' }]);
    expect(log.slice(0, 2)).toEqual([
      ['before', 1],
      ['error', 155],
    ]);
    expect(await stateOf(turn)).toMatchObject({ seen1: 1 });
  });

  test.for([
    ['cancelled', cancelled],
    ['rejected', async (turn: AskingTurn) => void (await turn.confirm({ confirmed: false }))],
    ['interrupted', async (turn: AskingTurn) => turn.handle.signal('interrupt', {})],
  ] as const)(
    'keep what they did where nobody hears what became of it: %s [confirm.callbacks]',
    async ([_name, end]) => {
      const turn = await asked({ agent: 'unheard' }, called('pay', 1));
      const [request] = await turn.pending();
      await end(turn, callKeyOf(request?.requestId));
      await turn.result();
      expect(log).toEqual([['before', 1]]);
      expect(await stateOf(turn)).toEqual({ seen1: 1 });
      const [merged] = (await turn.events()).filter(({ kind }) => kind === 'responses');
      expect(merged?.event.actions).toMatchObject({ stateDelta: { seen1: 1 } });
    },
  );

  test('keep what they did where the tool fails [confirm.callbacks]', async () => {
    const turn = await asked({ agent: 'unheard' }, called('pay_never', 1));
    await turn.pending();
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toMatchObject([{ error: expect.stringContaining('no money') }]);
    expect(await stateOf(turn)).toEqual({ seen1: 1 });
  });
});

/** How a turn ends whose calls wait for people, in the middle of it. */
const ENDS: Record<
  string,
  { given?: { agent: string; app: string }; end(turn: AskingTurn): Promise<unknown>; error: RegExp }
> = {
  'is interrupted': { end: (turn) => turn.handle.signal('interrupt', {}), error: /interrupted/ },
  'is cancelled': { end: (turn) => turn.handle.cancel(), error: /cut off/ },
  'is terminated': { end: (turn) => turn.handle.terminate(), error: /cut off/ },
  'gives way to a message': {
    end: (turn) =>
      turn.handle.signal('sendMessage', { messageId: 'next', message: 'stop', policy: 'interrupt' }),
    error: /interrupted by a new message/,
  },
  'has used up its time': {
    given: { agent: 'hurried', app: 'short' },
    end: async () => undefined,
    error: /time of its turn is used up/,
  },
};

describe.each(someOf(Object.entries(ENDS)))(
  'a turn that waits for people and %s',
  (_name, { given, end, error }) => {
    test('has closed its requests, in rows and audit; the next turn is told once of each call, and none runs [steer.interrupt] [turn.cancel] [confirm.answered]', async () => {
      const turn = await asked(
        given ?? { agent: 'unheard' },
        called('pay', 1),
        called('look', 7),
        called('pay', 2),
      );
      const [first, second] = await turn.pending(2);
      const { session = '' } = (await environment.store.sessions.find(turn.names)) ?? {};
      const look = callKeyOf(first?.requestId).replace(/0$/, '1');
      await expect
        .poll(async () => (await environment.store.turns.findCall({ session, callKey: look }))?.settled)
        .toBe(true);
      environment.gemini.reset(stepCalls([]));
      await end(turn);
      await turn.result().catch((failure: unknown) => failure);
      await turn.send({ message: 'still there?' });
      await turn.result();

      const rows = await turn.requests();
      expect(rows.map(({ requestId, status }) => [requestId, status])).toEqual([
        [first?.requestId, 'cancelled'],
        [second?.requestId, 'cancelled'],
      ]);
      const kinds = (await auditOf(turn)).filter((kind) => kind === 'requested' || kind === 'cancelled');
      expect(kinds).toEqual(['requested', 'requested', 'cancelled', 'cancelled']);
      const contents = contentsOf(environment.gemini.requests.at(-1));
      const responses = contents.flatMap(({ parts = [] }) =>
        parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []),
      );
      expect(responses).toEqual([
        { error: expect.stringMatching(error) },
        { seen: true },
        { error: expect.stringMatching(error) },
      ]);
      expect(JSON.stringify(contents)).not.toContain('adk_request');
      expect(environment.gemini.refusals).toEqual([]);
      expect(log).toEqual(
        [
          ['before', 1],
          ['before', 7],
          ['before', 2],
        ].toSorted(),
      );
      expect(await stateOf(turn)).toMatchObject({ seen1: 1, seen2: 1 });
    });
  },
);

test('plugins are told of a gated call once, whatever became of it [plugin.hooks]', async () => {
  const turn = await asked({ agent: 'watched', app: 'watched' }, called('pay', 1), called('pay', 2));
  const [first, second] = await turn.pending(2);
  await cancelled(turn, callKeyOf(first?.requestId));
  await turn.confirm({ requestId: second?.requestId, confirmed: false } as never);
  await turn.result();
  expect(log.filter((told) => (told as unknown[])[0] === 'completed')).toEqual([
    ['completed', 'pay', { amount: 1 }, { error: 'cancelled by an operator' }],
    ['completed', 'pay', { amount: 2 }, { error: 'This tool call is rejected.' }],
  ]);
});
