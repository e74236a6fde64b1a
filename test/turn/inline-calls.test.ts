import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { call, hang, text } from '../../src/testing/gemini-reply.ts';
import type { DurableOptions } from '../../src/tools/durable-options.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { scheduledActivities } from '../setup/history-facts.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

const PATIENT = { timeout: 120_000 };

const held = new HeldTool();
/** Ends the calls of the tool that hears no cancellation. */
let finish = Promise.withResolvers<void>();
let environment: TurnEnvironment;

const says = (name: string, options: DurableOptions & { requireConfirmation?: boolean } = {}) =>
  tool({
    name,
    description: 'says how often it was tried',
    retry: { initialInterval: 1, maximumInterval: 1 },
    ...options,
    execute: (_args, { attempt, state }) => {
      if (name === 'flaky' && attempt === 1) throw new Error('no luck');
      state.set('calls', Number(state.get('calls') ?? 0) + 1);
      return { attempt };
    },
  });

/** Calls that end with the tool's words for the turn. */
const acts = (name: string, actions: { transferToAgent?: string; escalate?: boolean }) =>
  tool({
    name,
    description: 'says how the turn goes on',
    execution: 'inline',
    execute: (_args, context) => Object.assign(context.actions, actions) && {},
  });

const tools = () => [
  acts('hands_over', { transferToAgent: 'other' }),
  acts('escalates', { escalate: true }),
  tool({
    name: 'deaf',
    description: 'tells how far it is, and hears no cancellation',
    execution: 'inline',
    execute: async (_args, context) => {
      context.heartbeat({ done: 0.5 });
      await finish.promise;
      return { done: 1 };
    },
  }),
  says('inline', { execution: 'inline' }),
  says('activity'),
  says('quick', { execution: 'auto', timeout: '10s' }),
  says('slow', { execution: 'auto', timeout: '11s' }),
  says('risky', { execution: 'auto', timeout: '1s', idempotent: false }),
  says('gated', { execution: 'inline', requireConfirmation: true }),
  says('alone', { execution: 'inline', isConcurrencySafe: false }),
  says('flaky', { execution: 'inline' }),
  tool({
    name: 'takes_six_seconds',
    description: 'makes a chain long',
    execution: 'inline',
    execute: () => setTimeout(6_000, {}),
  }),
  tool({
    name: 'busy',
    description: 'asks for more time than it has',
    execution: 'inline',
    totalTimeout: '20s',
    execute: () => {
      throw new ToolError('the service is busy', { retryAfter: 3_600_000 });
    },
  }),
  held.tool({ execution: 'inline' }),
];

const agentOf = () => {
  const other = new LlmAgent({ name: 'other', model: 'gemini-2.5-flash', description: 'knows more' });
  return new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: tools(), subAgents: [other] });
};

beforeAll(async () => {
  const rootAgent = agentOf();
  environment = await openTurnEnvironment({
    agents: [rootAgent],
    apps: [
      new App({ name: 'stepwise', rootAgent }),
      new App({
        name: 'narrow',
        rootAgent: new LlmAgent({
          ...{ name: 'narrow', model: 'gemini-2.5-flash', maxParallelCalls: 1 },
          tools: [held.tool({ execution: 'inline' }), says('inline', { execution: 'inline' })],
        }),
      }),
      new App({ name: 'chained', rootAgent, durable: { steps: 'chain' } }),
      new App({
        name: 'hurried',
        rootAgent,
        durable: { steps: 'chain', budgets: { turn: { time: '1 hour' } } },
      }),
    ],
  });
});
beforeEach(() => {
  held.hold();
  finish = Promise.withResolvers();
});
afterAll(() => environment.close());

const namesOf = (app: string) => ({ app, userId: 'ada', sessionId: randomUUID() });

const responses = (events: readonly StoredEvent[]) =>
  events.flatMap(({ event }) => getFunctionResponses(event)).map(({ name, response }) => [name, response]);

const typesOf = (turn: Awaited<ReturnType<TurnEnvironment['run']>>) =>
  scheduledActivities(turn.history).map(({ type }) => type);

/** Starts a turn whose calls are held. */
async function holding(app: string, calls: number) {
  const names = namesOf(app);
  const turn = await environment.client.sendMessage({ ...names, message: 'go' });
  await held.begun(calls);
  const keyOf = (step: number, index: number) => `${turn.invocationId}.${step}.${index}`;
  return { names, turn, keyOf, events: () => environment.store.sessions.readEvents(names) };
}

describe('inline calls', () => {
  test('run in the activity of their step, and those that may not are activities [tool.inline] [tool.auto]', async () => {
    const names = ['inline', 'activity', 'quick', 'slow', 'risky', 'alone', 'inline'];
    environment.gemini.reset(stepCalls([names.map((name) => ({ name }))]));
    const turn = await environment.run({ app: 'stepwise', message: 'go' });
    expect(responses(turn.events)).toEqual(names.map((name) => [name, { attempt: 1 }]));
    const scheduled = scheduledActivities(turn.history);
    const [first, ...others] = scheduled.map(({ type }) => type);
    expect([first, others.pop()]).toEqual(['holdfast.callModel', 'holdfast.callModel']);
    expect(others.slice(0, 3).sort()).toEqual(['activity', 'risky', 'slow']);
    expect(others.slice(3)).toEqual(['alone', 'inline']);
    expect(scheduled.at(-1)?.summary).toBe('support · gemini-2.5-flash · step 2 · after inline, quick');
  });

  test('one that fails goes on as an activity, with the attempts that it has left [tool.inline] [tool.retry]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'flaky' }, { name: 'inline' }]]));
    const turn = await environment.run({ app: 'stepwise', message: 'go' });
    expect(responses(turn.events)).toEqual([
      ['flaky', { attempt: 2 }],
      ['inline', { attempt: 1 }],
    ]);
    expect(typesOf(turn)).toEqual(['holdfast.callModel', 'flaky', 'holdfast.callModel']);
  });

  test('one whose next attempt would come too late has failed [tool.inline] [tool.totalTimeout]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'busy' }]]));
    const turn = await environment.run({ app: 'stepwise', message: 'go' });
    expect(responses(turn.events)).toEqual([
      ['busy', { error: "Error in tool 'busy': the service is busy" }],
    ]);
    expect(typesOf(turn)).not.toContain('busy');
  });

  test.each(['is released', 'loses its worker'])(
    'one that is cancelled before it begins does not run once the one before it %s [tool.inline] [steer.cancelCall]',
    async (way) => {
      environment.gemini.reset(stepCalls([[{ name: 'hold' }, { name: 'inline' }]]));
      const { names, turn, keyOf, events } = await holding('narrow', 1);
      const order = { callKey: keyOf(1, 1), reason: 'why not', ...PATIENT };
      await until(async () =>
        expect(await environment.client.cancelCall(names, order)).toMatchObject({ status: 'cancelling' }),
      );
      if (way !== 'is released') await environment.stopWorker();
      held.release();
      if (way !== 'is released') await environment.restartWorker();
      await turn.result();
      expect(responses(await events())).toEqual([
        ['hold', { held: true }],
        ['inline', { error: 'cancelled: why not' }],
      ]);
    },
  );

  test('one that needs a person waits for that, beside the others [tool.inline] [confirm.siblings]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'gated' }, { name: 'inline' }]]));
    const names = namesOf('stepwise');
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    const request = await until(async () => {
      const [pending] = await environment.store.approvals.list(names);
      expect(pending).toMatchObject({ tool: 'gated', status: 'pending' });
      return pending;
    });
    const handle = environment.temporal.workflow.getHandle(turn.workflowId);
    await handle.executeUpdate('confirm', { args: [{ requestId: request?.requestId, confirmed: true }] });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(responses(await environment.store.sessions.readEvents(names))).toEqual([
      ['gated', { attempt: 1 }],
      ['inline', { attempt: 1 }],
    ]);
  });

  test.each(['stepwise', 'chained'])(
    'one of them is cancelled while the others go on: %s [tool.inline] [steer.cancelCall]',
    async (app) => {
      environment.gemini.reset(stepCalls([[{ name: 'inline' }], [{ name: 'hold' }, { name: 'hold' }]]));
      const { names, turn, keyOf, events } = await holding(app, 2);
      const callKey = keyOf(2, 0);
      await until(async () =>
        expect(await environment.client.status(names, PATIENT)).toMatchObject({
          step: 2,
          running: [{ callKey, tool: 'hold' }, { callKey: keyOf(2, 1) }],
        }),
      );
      const order = { callKey, reason: 'why not', ...PATIENT };
      expect(await environment.client.cancelCall(names, order)).toMatchObject({
        callKey,
        status: 'cancelling',
      });
      await held.aborted();
      held.release();
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(responses(await events()).slice(1)).toEqual([
        ['hold', { error: 'cancelled: why not' }],
        ['hold', { held: true }],
      ]);
    },
  );

  test('one that has a response is answered by it, although it was cancelled [tool.inline] [steer.cancelCall]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'deaf' }]]));
    const names = namesOf('stepwise');
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    const callKey = `${turn.invocationId}.1.0`;
    await until(async () => {
      const { running } = (await environment.client.status(names, PATIENT)) ?? {};
      expect(running).toMatchObject([{ callKey, tool: 'deaf' }]);
    });
    await environment.client.cancelCall(names, { callKey, ...PATIENT });
    finish.resolve();
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(responses(await environment.store.sessions.readEvents(names))).toEqual([['deaf', { done: 1 }]]);
  });

  test('the heartbeat of their step names each with its state and its own words [tool.inline] [tool.heartbeat]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'inline' }, { name: 'deaf' }]]));
    const turn = await environment.client.sendMessage({ ...namesOf('stepwise'), message: 'go' });
    const { workflow, options } = environment.temporal;
    await until(async () => {
      const { raw } = await workflow.getHandle(turn.workflowId).describe();
      const payloads = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
      expect(
        payloads.map((payload) => options.loadedDataConverter.payloadConverter.fromPayload(payload)),
      ).toMatchObject([
        {
          step: 1,
          calls: [
            { tool: 'inline', state: 'ended' },
            { tool: 'deaf', state: 'running', details: { done: 0.5 } },
          ],
        },
      ]);
    });
    finish.resolve();
    expect(await turn.result()).toMatchObject({ status: 'completed' });
  });
});

describe('a chain of steps', () => {
  const STEPS = [[{ name: 'inline' }], [{ name: 'inline' }, { name: 'quick' }], [{ name: 'inline' }]];

  test('is one activity, and leaves the transcript that single steps leave [agent.chain]', async () => {
    const told = async (app: string) => {
      environment.gemini.reset(stepCalls(STEPS));
      const names = namesOf(app);
      const turn = await environment.run({ ...names, message: 'go' });
      const { state } = (await environment.client.sessions.get(names)) ?? {};
      const events = turn.events.map(({ kind, step, event: { author, content, actions } }) => ({
        ...{ kind, step, author, actions },
        parts: JSON.stringify(content?.parts).replaceAll(turn.result.invocationId, 'invocation'),
      }));
      const { text: answer, status, usage } = turn.result;
      return { types: typesOf(turn), told: { state, events, answer, status, usage } };
    };
    const [single, chain] = [await told('stepwise'), await told('chained')];
    expect(chain.told).toEqual(single.told);
    expect(single.types).toHaveLength(4);
    expect(chain.types).toEqual(['holdfast.callModel']);
  });

  test('comes back for a call that is none of its own, and begins anew after it [agent.chain]', async () => {
    environment.gemini.reset(stepCalls([...STEPS, [{ name: 'activity' }], ...STEPS]));
    const turn = await environment.run({ app: 'chained', message: 'go' });
    expect(turn.result).toMatchObject({ status: 'completed', usage: { modelCalls: 8 } });
    expect(typesOf(turn)).toEqual(['holdfast.callModel', 'activity', 'holdfast.callModel']);
    expect(scheduledActivities(turn.history).at(-1)?.summary).toContain('step 5 · after steps 1–4');
  });

  test('a turn with a budget of time is watched from its first step on [agent.chain] [budget.limits]', async () => {
    environment.gemini.reset(stepCalls(STEPS));
    const turn = await environment.run({ app: 'hurried', message: 'go' });
    expect(typesOf(turn)).toEqual(['holdfast.callModel', 'inline', 'holdfast.callModel']);
  });

  test('the limit of model calls is that of single steps [agent.chain] [turn.maxLlmCalls]', async () => {
    environment.gemini.reset(() => call('inline'));
    const turn = await environment.run({ app: 'chained', message: 'go', runConfig: { maxLlmCalls: 3 } });
    expect(turn.result).toMatchObject({
      status: 'failed',
      error: { code: 'LLM_CALLS_LIMIT_EXCEEDED' },
      usage: { modelCalls: 3 },
    });
  });

  test('an agent that takes over is asked in an activity of its own [agent.chain] [transfer.to]', async () => {
    environment.gemini.reset(({ systemInstruction, contents }) =>
      contents?.some(({ parts }) =>
        parts?.some(({ functionResponse }) => functionResponse?.name === 'transfer_to_agent'),
      ) || systemInstruction === undefined
        ? text('I know')
        : call('transfer_to_agent', { agentName: 'other' }),
    );
    const turn = await environment.run({ app: 'chained', message: 'go' });
    expect(turn.events.at(-1)?.event.author).toBe('other');
    expect(typesOf(turn)).toContain('transfer_to_agent');
  });

  if (isDeep)
    test('comes back after ten seconds [agent.chain]', async () => {
      environment.gemini.reset(stepCalls(Array.from({ length: 3 }, () => [{ name: 'takes_six_seconds' }])));
      const turn = await environment.run({ app: 'chained', message: 'go' });
      expect(typesOf(turn)).toEqual(['holdfast.callModel', 'holdfast.callModel']);
      expect(scheduledActivities(turn.history).at(-1)?.summary).toContain('step 3 · after steps 1–2');
    });

  test.each([
    ['hands_over', 'other', ['holdfast.callModel', 'holdfast.callModel']],
    ['escalates', 'support', ['holdfast.callModel', 'holdfast.callModel']],
  ])(
    'a call that says how the turn goes on ends it: %s [agent.chain] [transfer.to]',
    async (name, author, types) => {
      environment.gemini.reset(stepCalls([[{ name: 'inline' }], [{ name }], [{ name: 'inline' }]]));
      const turn = await environment.run({ app: 'chained', message: 'go' });
      expect(turn.events.at(-1)?.event.author).toBe(author);
      expect(typesOf(turn)).toEqual(types);
    },
  );

  test('the status follows it to a step without slow calls [agent.chain] [turn.status]', async () => {
    environment.gemini.reset(({ contents = [] }) =>
      contents.at(-1)?.parts?.[0]?.functionResponse === undefined ? call('hold') : hang(),
    );
    const { names, turn } = await holding('chained', 1);
    const shows = (status: object) =>
      until(async () => expect(await environment.client.status(names, PATIENT)).toMatchObject(status));
    await shows({ step: 1, running: [{ tool: 'hold' }] });
    held.release();
    await shows({ step: 2, running: [] });
    await environment.client.interrupt(names);
    expect(await turn.result()).toMatchObject({ status: 'interrupted' });
  });

  test('an interruption ends it in the middle, and the next turn finds its calls answered [agent.chain] [steer.interrupt]', async () => {
    const script = stepCalls([[{ name: 'inline' }], [{ name: 'inline' }], [{ name: 'hold' }]]);
    environment.gemini.reset((request, info) =>
      info.userText === 'next' || typeof script !== 'function' ? text('here') : script(request, info),
    );
    const { names, turn, events } = await holding('chained', 1);
    const message = { message: 'next', messageId: 'm2', policy: 'interrupt' } as const;
    const next = await environment.client.sendMessage({ ...names, ...message });
    expect(await turn.result()).toMatchObject({ status: 'interrupted', usage: { modelCalls: 3 } });
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'here' });
    expect(responses(await events())).toEqual([
      ['inline', { attempt: 1 }],
      ['inline', { attempt: 1 }],
      ['hold', { error: 'cancelled: interrupted by a new message' }],
    ]);
  });
});
