import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as adk from '@google/adk';
import type { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rootAgentOf, settingsOf } from '../../activities/deployment.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { DEFAULT_APP_SETTINGS } from '../../src/app/app-settings.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import type { Store } from '../../src/store/store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { currentStamp, formatStamp } from '../../worker/bundle.ts';
import { createWorker, type WorkerOptions } from '../../worker/create-worker.ts';
import { deploy } from '../../worker/deploy.ts';
import { payloadSizes, scheduledActivities } from '../setup/history-facts.ts';
import { stepCalls } from '../setup/scripts.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const agent = (name: string, model = 'gemini-2.5-flash') => new LlmAgent({ name, model });

describe('createWorker refuses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-worker-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Refused before either is used. */
  const unused = { store: {} as Store, connection: {} as NativeConnection };
  const twin = agent('twin');

  test('a bundle that was built for another SDK, naming both [worker.stamp]', async () => {
    const path = join(folder, 'bundle.js');
    writeFileSync(path, `${formatStamp({ sdk: '1.2.3', protocol: 1 })}\n`);
    await expect(
      createWorker({ ...unused, agents: [agent('a')], workflowBundlePath: path }),
    ).rejects.toMatchObject({
      code: 'HOLDFAST_BUNDLE_MISMATCH',
      message: expect.stringMatching(new RegExp(`Temporal SDK 1\\.2\\.3 .* SDK ${currentStamp().sdk} `)),
    });
  });

  const shop = new App({ name: 'shop', rootAgent: agent('seller') });
  const budget = { budgets: { turn: { cost: 1 } } };

  test.each(
    someOf([
      ['no agents', { agents: [] }, 'createWorker: agents: expected at least one agent'],
      ['neither agents nor apps', {}, 'createWorker: agents: expected at least one agent, here or'],
      [
        'two agents of one name',
        { agents: [twin, agent('twin')] },
        'createWorker: agents: two agents are named "twin"',
      ],
      [
        'an unknown root agent',
        { agents: [twin], rootAgent: 'twn' },
        'createWorker: rootAgent: no agent is named "twn"',
      ],
      ['what is no agent', { agents: [{ name: 'x' } as LlmAgent] }, /createWorker: agents/],
      ['agents that are no list', { agents: twin as unknown as LlmAgent[] }, /createWorker: agents/],
    ]),
  )('%s [worker.agents]', refuses);

  test.each(
    someOf([
      [
        'two apps of one name',
        { apps: [shop, new App({ name: 'shop', rootAgent: agent('other') })] },
        'createWorker: apps[1]: two apps are named "shop"',
      ],
      [
        'a root agent named like another agent',
        { apps: [shop], agents: [agent('seller')] },
        'createWorker: apps[0].rootAgent: two agents are named "seller"',
      ],
      ['what is no App', { apps: [{} as App] }, 'createWorker: apps[0]: expected an App'],
      ['apps that are no list', { apps: shop as unknown as App[] }, 'createWorker: apps: expected a list'],
      [
        'an App of ADK',
        {
          apps: [
            new adk.App({
              name: 'shop',
              rootAgent: new adk.LlmAgent({ name: 'seller', model: 'gemini-2.5-flash' }),
            }) as unknown as App,
          ],
        },
        "createWorker: apps[0]: an App of @google/adk; import its class from 'holdfast' instead",
      ],
    ]),
  )('%s [app.settings]', refuses);

  test.each(
    someOf([
      [
        "a cost budget without a price for the root agent's model",
        { apps: [new App({ name: 'shop', rootAgent: agent('seller'), durable: budget })] },
        'App "shop": durable.prices: no price for the model "gemini-2.5-flash" of the agent "seller"',
      ],
      [
        "a cost budget without a price for a model of the worker's other agents",
        {
          agents: [agent('cheap', 'gemini-2.5-flash-lite')],
          apps: [
            new App({
              name: 'shop',
              rootAgent: agent('seller'),
              durable: { ...budget, prices: { 'gemini-2.5-flash': { input: 1, output: 1 } } },
            }),
          ],
        },
        'no price for the model "gemini-2.5-flash-lite" of the agent "cheap"',
      ],
    ]),
  )('%s [budget.limits]', refuses);

  async function refuses(
    _name: string,
    options: Pick<WorkerOptions, 'agents' | 'apps' | 'rootAgent'>,
    problem: string | RegExp,
  ) {
    const refused = createWorker({ ...unused, ...options });
    await expect(refused).rejects.toThrow(DefinitionError);
    await expect(refused).rejects.toThrow(problem);
  }
});

test('the root agent is the first where none is named; the same agent twice is one [worker.agents]', () => {
  const [first, second] = [agent('first'), agent('second')];
  const { rootAgent, roots } = deploy({ agents: [first, second, first] });
  expect({ rootAgent, roots: [...roots.values()] }).toEqual({
    rootAgent: 'first',
    roots: [first, second],
  });
  expect(deploy({ agents: [first, second], rootAgent: 'second' }).rootAgent).toBe('second');
});

describe('a deployment of apps', () => {
  const [seller, clerk, helper] = [agent('seller'), agent('clerk'), agent('helper')];
  const durable = { runConfig: { maxLlmCalls: 3 } };
  const shop = new App({ name: 'shop', rootAgent: seller, durable });
  const bank = new App({ name: 'bank', rootAgent: clerk });

  test('each app has its root agent and its settings; any other app the defaults [app.settings]', () => {
    const deployed = deploy({ agents: [helper], apps: [shop, bank] });
    expect([...deployed.roots.keys()]).toEqual(['helper', 'seller', 'clerk']);
    expect(['shop', 'bank', 'other'].map((app) => rootAgentOf(deployed, app))).toEqual([
      'seller',
      'clerk',
      'helper',
    ]);
    expect(settingsOf(deployed, 'shop')).toBe(shop.durable);
    expect(settingsOf(deployed, 'other')).toEqual(DEFAULT_APP_SETTINGS);
    expect(deploy({ apps: [shop, bank] }).rootAgent).toBe('seller');
    expect(deploy({ apps: [shop, bank], rootAgent: 'clerk' }).rootAgent).toBe('clerk');
  });

  test('an agent may serve several apps, and need a price only where a budget asks for it [app.settings]', () => {
    const twin = new App({ name: 'twin', rootAgent: seller });
    const prices = { 'gemini-*': { input: 1, output: 1 } };
    const dear = new App({
      name: 'dear',
      rootAgent: seller,
      durable: { prices, budgets: { session: { cost: 5 } } },
    });
    expect([...deploy({ apps: [shop, twin, dear] }).roots.keys()]).toEqual(['seller']);
  });
});

/** Milliseconds. */
const HEARTBEAT_TIMEOUT = 3_000;
const LIMIT = 3;

describe('a worker', () => {
  let environment: TurnEnvironment;
  let running = 0;
  let most = 0;
  /** So many run at once, before any of them ends. */
  let expected = 1;
  let allRun = Promise.withResolvers<void>();

  const woken = Promise.withResolvers<void>();
  const sleepy = tool({
    name: 'sleepy',
    description: 'is silent until it is woken',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    execute: async (_args, context) => {
      await woken.promise;
      return { attempt: context?.attempt };
    },
  });
  const overlapping = (name: string, isConcurrencySafe: boolean) =>
    tool({
      name,
      description: 'notes how many run at once',
      isConcurrencySafe,
      execute: async () => {
        running += 1;
        most = Math.max(most, running);
        if (running >= expected) allRun.resolve();
        await allRun.promise;
        // Long enough for one more to begin, where nothing holds it.
        await setTimeout(20);
        running -= 1;
        return {};
      },
    });
  const chosen = new LlmAgent({
    name: 'chosen',
    model: 'gemini-2.5-flash',
    maxParallelCalls: LIMIT,
    tools: [sleepy, overlapping('together', true), overlapping('alone', false)],
  });

  beforeAll(async () => {
    environment = await openTurnEnvironment({ agents: [agent('first'), chosen] });
  });
  afterAll(() => environment.close());

  test('beats for a tool that is silent: one attempt [worker.heartbeat]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'sleepy' }]]));
    const running = environment.run({ message: 'go', agent: 'chosen', sessionId: 'silent' });
    const handle = environment.temporal.workflow.getHandle('test/ada/silent');
    const beatenFor = async () => {
      const { pendingActivities } = (await handle.describe()).raw;
      const call = pendingActivities?.find(({ activityType }) => activityType?.name === 'sleepy');
      return millisecondsOf(call?.lastHeartbeatTime) - millisecondsOf(call?.lastStartedTime);
    };
    await expect.poll(beatenFor).toBeGreaterThan(HEARTBEAT_TIMEOUT);
    woken.resolve();
    const { result, events } = await running;
    expect(result.status).toBe('completed');
    expect(events[2]?.event.content?.parts?.[0]?.functionResponse?.response).toEqual({ attempt: 1 });
  });

  test.each(
    someOf([
      ['at most maxParallelCalls at a time', 'together', LIMIT],
      ['one after another where they say so', 'alone', 1],
    ]),
  )('runs calls %s [turn.parallel]', async (_how, name, limit) => {
    most = 0;
    expected = limit;
    allRun = Promise.withResolvers();
    environment.gemini.reset(stepCalls([Array.from({ length: 8 }, () => ({ name }))]));
    const { result, history } = await environment.run({ message: 'go', agent: 'chosen' });
    expect(result.status).toBe('completed');
    expect(scheduledActivities(history).filter(({ type }) => type === name)).toHaveLength(8);
    expect(most).toBe(limit);
    expected = 1;
  });

  test('runs the root agent, the one that is named, or the one that answered last [worker.agents]', async () => {
    const names = { sessionId: 'agents' };
    const authors = async (turn: object) => {
      environment.gemini.reset(stepCalls([]));
      const { events } = await environment.run({ ...names, message: 'hi', ...turn });
      return events.at(-1)?.event.author;
    };
    expect(await authors({})).toBe('first');
    expect(await authors({ agent: 'chosen' })).toBe('chosen');
    expect(await authors({})).toBe('chosen');
  });

  test('keeps the history of a turn small: no conversation in it [size.history]', async () => {
    const message = 'long '.repeat(5_000);
    environment.gemini.reset(
      stepCalls([[{ name: 'together' }], [{ name: 'together' }], [{ name: 'together' }]]),
    );
    const { history } = await environment.run({ message, agent: 'chosen' });
    const bytes = payloadSizes(history).reduce((sum, size) => sum + size, 0);
    // The message stands in the start and in the first step's input, then no more.
    expect(bytes).toBeLessThan(2 * message.length + 10_000);
  });
});

function millisecondsOf(time: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  return Number(time?.seconds ?? Number.NaN) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}
