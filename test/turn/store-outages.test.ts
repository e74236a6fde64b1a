import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { Context } from '../../src/tools/context.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const server = await startPostgresServer();

/** Each has killed the database just after it, so that nothing of it can be recorded before the server is back. */
const effects: string[] = [];
/** Each says that an attempt waits for the store. */
const warnings: string[] = [];
let killed = 0;
let effectAt = 0;

async function effect(name: string): Promise<{ did: string }> {
  effects.push(name);
  effectAt = performance.now();
  await server.kill();
  // Its backends live on for a moment.
  while (await isThere());
  killed += 1;
  return { did: name };
}

const isThere = () =>
  store.jobs.find('none').then(
    () => true,
    () => false,
  );

const plain = { description: 'has an effect, after which the database is killed', parameters: z.object({}) };
const careful = { ...plain, idempotent: false, retry: { maximumAttempts: 1 } };
const tools = [
  tool({ ...plain, name: 'once', execute: (_args, context) => context.once('pay', () => effect('once')) }),
  tool({
    ...plain,
    name: 'impatient',
    timeout: '8s',
    execute: async (_args, context) => {
      await context.once('pay', () => effect('impatient'));
      // The database comes back once the call is out of time.
      return await new Promise(() => undefined);
    },
    retry: { maximumAttempts: 2 },
  }),
  tool({ ...careful, name: 'careful', execute: () => effect('careful') }),
  tool({
    ...careful,
    name: 'failing',
    execute: async () => {
      await effect('failing');
      throw new Error('it has failed');
    },
  }),
  tool({
    ...careful,
    name: 'asking',
    execute: async (_args, context: Context) => {
      if (context.toolConfirmation !== undefined) return { did: 'asking' };
      await effect('asking');
      context.requestConfirmation({ hint: 'go on?' });
      return {};
    },
  }),
  new LongRunningFunctionTool({
    ...careful,
    name: 'parking',
    execute: async () => {
      await effect('parking');
    },
  }),
  new LongRunningFunctionTool({ ...careful, name: 'telling', execute: () => effect('telling') }),
  new LongRunningFunctionTool({
    ...careful,
    name: 'progressing',
    execute: async (_args, { job }) => {
      await effect('progressing');
      await job.progress(0.5, 'half');
    },
  }),
];

/** Asks for the tool that the message names, and then says what came of it. */
const model = new OwnModel(async ({ contents }) => {
  const last = contents.at(-1)?.parts?.[0];
  if (last?.functionResponse !== undefined) return saying(JSON.stringify(last.functionResponse.response));
  const name = last?.text ?? '';
  if (name === 'paid answer') {
    await effect(name);
    return saying('the answer');
  }
  return { content: { role: 'model', parts: [{ functionCall: { name, args: {}, id: randomUUID() } }] } };
});

let environment: TurnEnvironment;
let store: OpenedStore;
let client: HoldfastClient;

beforeAll(async () => {
  store = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  environment = await openTurnEnvironment({
    logger: { warn: (message) => void warnings.push(message) },
    workerOptions: { agents: [new LlmAgent({ name: 'payer', model, tools })], store },
  });
  client = new HoldfastClient({ temporal: environment.temporal, store, searchAttributes: true });
});
afterAll(async () => {
  await environment.close();
  await store.close();
  await server.close();
});

async function sent(message: string) {
  const names = { app: 'outage', userId: 'ada', sessionId: randomUUID() };
  const [before, told] = [killed, warnings.length];
  const waits = () => warnings.slice(told).filter((line) => line.includes('an attempt waits for the store'));
  const turn = await client.sendMessage({ ...names, message });
  await expect.poll(() => killed).toBe(before + 1);
  onTestFinished(() => server.start());
  await expect.poll(() => waits().length).toBeGreaterThan(0);
  return { names, turn };
}

const count = (name: string) => effects.filter((each) => each === name).length;

async function responsesOf(names: { app: string; userId: string; sessionId: string }) {
  const events = await store.sessions.readEvents(names);
  return events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);
}

test.each([
  ['once', { did: 'once' }],
  ['careful', { did: 'careful' }],
  ['telling', { did: 'telling' }],
  ['failing', { error: expect.stringContaining('it has failed') }],
])(
  'a database that is killed by the effect of %s: the attempt records what it knows once it is back [turn.outage]',
  async (name, response) => {
    const { names, turn } = await sent(name);
    await server.start();
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect((await responsesOf(names))[0]).toEqual(response);
    expect(count(name)).toBe(1);
  },
);

if (isDeep) {
  test('a call that is out of time while its `once` is yet to be recorded: its next attempt knows of it [turn.outage]', async () => {
    const { names, turn } = await sent('impatient');
    // Its attempt is over time by then.
    await expect.poll(() => performance.now() - effectAt).toBeGreaterThan(8_500);
    await server.start();
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(await responsesOf(names)).toEqual([
      { error: expect.stringContaining('no result within 8000 ms') },
    ]);
    expect(count('impatient')).toBe(1);
  });
}

test.each(['parking', 'progressing'])(
  'the job of %s waits, and its outcome is told [turn.outage]',
  async (name) => {
    const { names, turn } = await sent(name);
    await server.start();
    await expect.poll(async () => (await client.status(names))?.status).toBe('waiting_job');
    const [job] = await client.jobs.list(names);
    await client.jobs.complete(job?.jobId ?? '', { result: { did: name } });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: JSON.stringify({ did: name }) });
    expect(count(name)).toBe(1);
  },
);

test('a question that a tool asks is asked [turn.outage]', async () => {
  const { names, turn } = await sent('asking');
  await server.start();
  await expect.poll(async () => (await client.status(names))?.status).toBe('waiting_approval');
  const [request] = await client.approvals.list(names);
  await client.approvals.confirm({ requestId: request?.requestId ?? '' }, { confirmed: true });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: JSON.stringify({ did: 'asking' }) });
  expect(count('asking')).toBe(1);
});

test('a model that has answered is not asked again [turn.outage]', async () => {
  const before = model.asked;
  const { turn } = await sent('paid answer');
  await server.start();
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'the answer' });
  expect(model.asked).toBe(before + 1);
});

test('a turn that is cancelled waits for no store [turn.outage]', async () => {
  const { names, turn } = await sent('careful');
  await environment.temporal.workflow.getHandle(turn.workflowId).cancel();
  // The attempt hears of it by its next heartbeat.
  const given = () => environment.temporal.workflow.getHandle(turn.workflowId).describe();
  await expect
    .poll(async () =>
      (await given()).raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'careful'),
    )
    .toBeFalsy();
  await server.start();
  const { invocationId } = turn;
  await expect
    .poll(async () => (await store.turns.findInvocation(names, invocationId))?.status)
    .toBe('interrupted');
});
