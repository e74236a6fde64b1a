import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { Turn } from './suite/turns/turn.ts';

const server = await startPostgresServer({ settings: { autovacuum: 'off', bgwriter_lru_maxpages: '0' } });
let store: OpenedStore;

beforeAll(async () => {
  store = await openStore({ url: await server.newDatabase() });
});

afterAll(async () => {
  await store.close();
  await server.close();
});

/** A turn whose first step has asked for calls, and from then on nothing reaches the disk that no commit waits for. */
async function called(calls: number): Promise<Turn> {
  await server.start();
  const turn = new Turn(store);
  await turn.opened(1);
  await turn.commit(1, calls);
  await server.holdLog();
  return turn;
}

async function afterCrash(): Promise<void> {
  await server.crash();
  await server.start();
}

const repeatable = (turn: Turn, index: number) => turn.begin(1, index, false, undefined, true);

async function attemptsOf(turn: Turn): Promise<number[]> {
  const { rows } = await sql<{ attempts: number }>`select attempts from holdfast.ledger
    where session_id = ${turn.session} and kind = 'call' and attempts > 0 order by key`.execute(store.db);
  return rows.map(({ attempts }) => attempts);
}

const eventsOf = async ({ names }: Turn) =>
  (await store.sessions.readEvents(names)).map(({ kind, event }) => [kind, event.id]);

test('a crash of the server may forget that a repeatable call has begun, and its attempt records what came of it [store.crash]', async () => {
  const turn = await called(3);
  await repeatable(turn, 0);
  await Promise.all([repeatable(turn, 1), repeatable(turn, 2)]);
  expect(await attemptsOf(turn)).toEqual([1, 1, 1]);
  await afterCrash();
  expect(await attemptsOf(turn)).toEqual([]);
  const [session, callKey] = [turn.session, turn.callKey(1, 0)];
  expect(await store.turns.recordOnce({ session, callKey, key: 'paid', value: 1 })).toBe(1);
  expect(await turn.settle(1, 1, { done: true })).toMatchObject({ first: true });
  const failed = { session, callKey: turn.callKey(1, 2), error: 'no', attempt: 1 };
  expect(await store.turns.recordCallFailure(failed)).toBe(1);
  await afterCrash();
  expect(await repeatable(turn, 0)).toMatchObject({ kind: 'started', attempt: 2, once: { paid: 1 } });
  expect(await repeatable(turn, 1)).toMatchObject({ kind: 'settled', response: { done: true } });
  expect(await repeatable(turn, 2)).toMatchObject({ kind: 'started', attempt: 2, failures: 1 });
});

test('a crash of the server forgets no other call, whichever begin with it [store.crash]', async () => {
  const turn = await called(3);
  await turn.begin(1, 0);
  await Promise.all([repeatable(turn, 1), turn.begin(1, 2)]);
  await afterCrash();
  expect(await attemptsOf(turn)).toEqual([1, 1, 1]);
});

test('a crash of the server may forget that a later step has begun; its attempt commits the same events [store.crash]', async () => {
  const turn = await called(1);
  await repeatable(turn, 0);
  await turn.settle(1, 0, { done: true });
  const { events } = await turn.opened(2);
  expect(await eventsOf(turn)).toHaveLength(3);
  await afterCrash();
  expect(await eventsOf(turn)).toHaveLength(2);
  await turn.commit(2, 0);
  await afterCrash();
  const kept = await eventsOf(turn);
  expect(kept.map(([kind]) => kind)).toEqual(['message', 'model', 'responses', 'model']);
  expect(kept[2]).toEqual(['responses', events.at(-1)?.event.id]);
});

test('a step that was forgotten and is opened by another attempt tells events that the worker believes to know [store.crash]', async () => {
  const turn = await called(1);
  await turn.begin(1, 0);
  await turn.settle(1, 0, { done: true });
  const inHistory = turn.seq;
  const { seq } = await turn.opened(2);
  await afterCrash();
  turn.seq = inHistory;
  const other = await turn.opened(2, { knownSeq: seq });
  expect(other.events.map((event) => event.seq)).toEqual([1, 2, 3]);
});

test('a crash of the server forgets no first step [store.crash]', async () => {
  await server.start();
  await server.holdLog();
  const turn = new Turn(store);
  await turn.opened(1);
  await afterCrash();
  expect(await eventsOf(turn)).toHaveLength(1);
});
