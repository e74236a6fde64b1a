import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const server = await startPostgresServer({ settings: { autovacuum: 'off', bgwriter_lru_maxpages: '0' } });

/** Everything that has happened outside of the store, in order. */
let effects: string[] = [];
/** The effect that takes the database's machine with it. */
let fatal: string | undefined;
let crashed = Promise.withResolvers<void>();

async function effect(name: string): Promise<boolean> {
  effects.push(name);
  if (name !== fatal) return false;
  fatal = undefined;
  await server.crash();
  crashed.resolve();
  return true;
}

const plain = { description: 'has an effect', parameters: z.object({}) };

/** Its worker is lost with the database. */
const losing =
  (name: string) =>
  async (_args: unknown, { abortSignal }: Context) => {
    if (await effect(name)) {
      await new Promise((_done, lost) =>
        abortSignal?.addEventListener('abort', () => lost(new Error('lost'))),
      );
    }
    return { did: name };
  };

const tools = [
  tool({ ...plain, name: 'repeatable', execute: losing('repeatable') }),
  tool({ ...plain, name: 'careful', idempotent: false, execute: losing('careful') }),
  tool({ ...plain, name: 'approved', requireConfirmation: true, execute: losing('approved') }),
  tool({
    ...plain,
    name: 'once',
    execute: (_args, context) => context.once('pay', async () => ({ lost: await effect('once') })),
  }),
];

/** Asks for the tool that the message names, and then says what came of it. */
const model = new OwnModel(async ({ contents }) => {
  const last = contents.at(-1)?.parts?.[0];
  if (last?.functionResponse !== undefined) {
    await effect('answer');
    return saying(JSON.stringify(last.functionResponse.response));
  }
  const name = last?.text ?? '';
  return { content: { role: 'model', parts: [{ functionCall: { name, args: {}, id: randomUUID() } }] } };
});

let environment: TurnEnvironment;
let store: OpenedStore;
let client: HoldfastClient;

beforeAll(async () => {
  store = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  environment = await openTurnEnvironment({
    workerOptions: { agents: [new LlmAgent({ name: 'payer', model, tools })], store },
  });
  client = new HoldfastClient({ temporal: environment.temporal, store, searchAttributes: true });
});
afterAll(async () => {
  await environment.close();
  await store.close();
  await server.close();
});
beforeEach(() => {
  effects = [];
  crashed = Promise.withResolvers();
});

/** A turn at whose fatal effect nothing is on the database's disk but what a commit has waited for. */
async function crashing(name: string, at = name) {
  const names = { app: 'crash', userId: 'ada', sessionId: randomUUID() };
  await server.holdLog();
  fatal = at;
  const turn = await client.sendMessage({ ...names, message: name });
  if (name === 'approved') {
    await expect.poll(async () => (await client.status(names))?.status).toBe('waiting_approval');
    const [request] = await client.approvals.list(names);
    await client.approvals.confirm({ requestId: request?.requestId ?? '' }, { confirmed: true });
  }
  await crashed.promise;
  return { names, turn };
}

type Crashing = Awaited<ReturnType<typeof crashing>>;

/** The calls of a turn that the store knows to have begun, and whether that was before its server has started again. */
async function begun({ turn }: Crashing): Promise<{ before: boolean }[]> {
  const { rows } = await sql<{ before: boolean }>`select started_at < pg_postmaster_start_time() as before
    from holdfast.ledger where run_key = ${turn.invocationId} and kind = 'call' and attempts > 0`.execute(
    store.db,
  );
  return rows;
}

async function eventsOf({ names }: Crashing) {
  return (await store.sessions.readEvents(names)).map(({ event }) => event);
}

test.each([
  // Its beginning was forgotten, and it runs again by its terms.
  ['repeatable', [], 2, { did: 'repeatable' }],
  ['careful', [{ before: true }], 1, { error: expect.stringContaining('unknown') }],
  ['approved', [{ before: true }], 1, { error: expect.stringContaining('unknown') }],
])(
  'a server that crashes, with the worker, at the effect of a %s call: the turn completes, by the terms of the call [store.crash]',
  async (name, kept, runs, response) => {
    const crash = await crashing(name);
    await environment.stopWorker();
    await server.start();
    expect(await begun(crash)).toEqual(kept);
    await environment.restartWorker();
    expect(await crash.turn.result()).toMatchObject({ status: 'completed' });
    expect(effects.filter((each) => each === name)).toHaveLength(runs);
    const responses = (await eventsOf(crash)).flatMap(getFunctionResponses);
    expect(responses.at(-1)?.response).toEqual(response);
  },
);

test('a server that crashes, with the worker, as a model is asked: what was recorded stays, and the step opens again [store.crash]', async () => {
  const crash = await crashing('repeatable', 'answer');
  await environment.stopWorker();
  await server.start();
  expect((await eventsOf(crash)).flatMap(getFunctionResponses)).toEqual([]);
  await environment.restartWorker();
  expect(await crash.turn.result()).toMatchObject({ status: 'completed', text: '{"did":"repeatable"}' });
  expect(effects).toEqual(['repeatable', 'answer', 'answer']);
  expect((await eventsOf(crash)).map(({ author }) => author)).toEqual(['user', 'payer', 'payer', 'payer']);
});

test('a server that crashes alone: the attempt records what it knows, and repeats nothing [store.crash]', async () => {
  for (const at of ['once', 'answer']) {
    effects = [];
    crashed = Promise.withResolvers();
    const crash = await crashing('once', at);
    await server.start();
    expect(await crash.turn.result()).toMatchObject({ status: 'completed' });
    expect(effects).toEqual(['once', 'answer']);
    // Begun again: the first beginning was forgotten.
    if (at === 'once') expect(await begun(crash)).toEqual([{ before: false }]);
  }
});
