import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { BaseTool, type RunAsyncToolRequest } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { never } from '../setup/own-model.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

const effects: Record<string, number> = {};
const effect = (name: string) => {
  effects[name] = (effects[name] ?? 0) + 1;
};

const once = { name: 'pays_once', description: 'pays', idempotent: false, timeout: '200ms' } as const;
const paysDeaf = tool({
  ...once,
  execute: () => {
    effect('pays_once');
    return never();
  },
});
const paysHeeding = tool({
  ...once,
  name: 'pays_heeding',
  execute: (_args, context) => {
    effect('pays_heeding');
    return new Promise((_resolve, reject) =>
      context.abortSignal.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  },
});

const MALFORMED: Record<string, (context: Context) => void> = {
  'text as artifacts': ({ actions }) => Object.assign(actions, { artifactDelta: 'v1' }),
  'text as a version': ({ actions }) => Object.assign(actions, { artifactDelta: { 'a.pdf': 'v1' } }),
  'text as state': ({ actions }) => Object.assign(actions, { stateDelta: 'v1' }),
  'a function in the state': ({ actions }) => Object.assign(actions.stateDelta, { onPaid: () => 1 }),
  'a bigint in the state': ({ actions }) => Object.assign(actions.stateDelta, { paid: 1n }),
  'text as a flag': ({ actions }) => Object.assign(actions, { skipSummarization: 'yes' }),
};
const UNUSUAL: Record<string, (context: Context) => void> = {
  'no state': ({ actions }) => Object.assign(actions, { stateDelta: null }),
  'a NUL in a key': ({ state }) => state.set('a\0b', 'c\0d'),
  'half a character': ({ state }) => state.set('a\ud800', '\udc00'),
  'the prototype': ({ state }) => state.set('__proto__', { polluted: true }),
};
const acts = tool({
  name: 'acts',
  description: 'acts beside its result',
  parameters: { type: 'object', properties: { how: { type: 'string' } } },
  execute: (args, context) => {
    const how = String((args as { how?: unknown }).how);
    (MALFORMED[how] ?? UNUSUAL[how])?.(context);
    return { acted: true };
  },
});

class Throws extends BaseTool {
  readonly #thrown: (request: RunAsyncToolRequest) => unknown;

  constructor(name: string, thrown: (request: RunAsyncToolRequest) => unknown) {
    super({ name, description: 'throws', retry: { initialInterval: 1, maximumInterval: 2 } });
    this.#thrown = thrown;
  }

  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }

  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    effect(this.name);
    throw this.#thrown(request);
  }
}
const throwing = [
  new Throws('throws_nothing', () => Object.create(null)),
  new Throws('throws_stack', () => Object.assign(new Error('odd stack'), { stack: 7n })),
  new Throws('throws_object', () => ({ message: 'x' })),
  new Throws('throws_getters', () => ({
    get message() {
      throw new Error('message');
    },
    get stack() {
      throw new Error('stack');
    },
    get retryable() {
      throw new Error('retryable');
    },
  })),
];
const throwsProxy = new Throws('throws_proxy', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
});
const beatsBigint = new Throws('beats_bigint', ({ toolContext }) => toolContext.heartbeat(1n));

const NAMES = ['constructor', 'toString', 'valueOf'];
const named = NAMES.map((name) => tool({ name, description: 'd', execute: () => ({ ran: name }) }));

const patient = { initialInterval: '10 minutes', maximumInterval: '10 minutes' } as const;
const slow = tool({
  name: 'slow',
  description: 'never ends',
  timeout: '500ms',
  totalTimeout: '9 minutes',
  retry: patient,
  execute: never,
});
const waitsLong = tool({ name: 'patient', description: 'd', retry: patient, execute: () => ({}) });
const unsettled = tool({
  name: 'unsettled',
  description: 'ends, and nobody can write it down',
  timeout: '500ms',
  totalTimeout: '1s',
  execute: () => ({}),
});

describe('code of users', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [
        new LlmAgent({
          name: 'support',
          model: 'gemini-2.5-flash',
          tools: [
            paysDeaf,
            paysHeeding,
            acts,
            ...throwing,
            throwsProxy,
            beatsBigint,
            ...named,
            slow,
            waitsLong,
            unsettled,
          ],
        }),
      ],
    });
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => environment.close());

  const responses = ({ events }: RanTurn) =>
    events
      .filter(({ kind }) => kind === 'responses')
      .flatMap(({ event }) => getFunctionResponses(event))
      .map(({ response }) => response);

  async function runCalls(...calls: { name: string; args?: Record<string, unknown> }[]): Promise<RanTurn> {
    environment.gemini.reset(stepCalls([calls]));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result).toMatchObject({ status: 'completed', text: 'done' });
    return turn;
  }

  test('timed out and not idempotent: told as unknown, not run again [tool.timeout]', async () => {
    const turn = await runCalls({ name: 'pays_once' }, { name: 'pays_heeding' });
    const unknown = { error: expect.stringMatching(/^outcome unknown/) };
    expect(responses(turn)).toEqual([unknown, unknown]);
    expect(effects).toMatchObject({ pays_once: 1, pays_heeding: 1 });
  });

  test.each(someOf([...Object.keys(MALFORMED), ...Object.keys(UNUSUAL)]))(
    'with %s as an action the session goes on [tool.actions]',
    async (how) => {
      environment.gemini.reset(stepCalls([[{ name: 'acts', args: { how } }]]));
      const sessionId = `acts with ${how}`;
      const turn = await environment.run({ message: 'go', sessionId });
      expect(turn.result.status).toBe('completed');
      expect(responses(turn)).toEqual([
        how in MALFORMED ? { error: expect.stringMatching(/./) } : { acted: true },
      ]);
      environment.gemini.reset([text('still here')]);
      const next = await environment.run({ message: 'are you there?', sessionId });
      expect(next.result).toMatchObject({ status: 'completed', text: 'still here' });
    },
  );

  if (isDeep) {
    test('tools that throw what is hardly an error: counted attempts, then an error [tool.throws]', async () => {
      const turn = await runCalls(...throwing.map(({ name }) => ({ name })));
      const error = { error: expect.stringMatching(/./) };
      expect(responses(turn)).toEqual(throwing.map(() => error));
      expect(throwing.map(({ name }) => effects[name])).toEqual(throwing.map(() => 3));
    });
  }

  test('a tool that throws what answers no question at all: the same [tool.throws]', async () => {
    const [response] = responses(await runCalls({ name: 'throws_proxy' }));
    expect(response).toEqual({ error: expect.stringMatching(/./) });
    expect(effects.throws_proxy).toBe(3);
  });

  test('a heartbeat that JSON lacks is an error of the call, which is not repeated [tool.throws]', async () => {
    const [response] = responses(await runCalls({ name: 'beats_bigint' }));
    expect(response).toEqual({ error: expect.stringContaining('JSON has no bigint') });
    expect(effects.beats_bigint).toBe(1);
  });

  test('tools named like members of every object run [tool.names]', async () => {
    const turn = await runCalls(...NAMES.map((name) => ({ name })));
    expect(responses(turn)).toEqual(NAMES.map((name) => ({ ran: name })));
  });

  test('no outcome in time: the model is told, and nothing of the infrastructure [tool.totalTimeout]', async () => {
    const settleCall = environment.store.turns.settleCall.bind(environment.store);
    vi.spyOn(environment.store.turns, 'settleCall').mockImplementation((call) =>
      call.failed ? settleCall(call) : Promise.reject(new StoreUnavailable('db.internal:5432 refused')),
    );
    const turn = await runCalls({ name: 'slow' }, { name: 'unsettled' });
    expect(responses(turn)).toEqual([
      { error: "Error in tool 'slow': no result within 500 ms (its timeout)" },
      { error: "Error in tool 'unsettled': no outcome within its total timeout; it may have run" },
    ]);
  });

  test("a lost worker's calls wait no longer than the infrastructure's own interval [tool.schedule]", async () => {
    const { history } = await runCalls({ name: 'patient' }, { name: 'constructor' });
    const waits = (history.events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.retryPolicy?.maximumInterval ?? [],
    );
    expect(waits.map(({ seconds }) => Number(seconds))).toEqual(waits.map(() => 30));
    expect(waits).toHaveLength(4);
  });
});
