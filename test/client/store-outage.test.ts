import type { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { StoredEvent } from '../../src/store/store.ts';
import { createWorker } from '../../worker/index.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { type ClientScene, newSession, openClientScene } from './client-scene.ts';

const TASK_QUEUE = 'outage';
const server = await startPostgresServer();
const silent = () => undefined;

let scene: ClientScene;
let store: OpenedStore;
let client: HoldfastClient;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  scene = await openClientScene();
  store = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  const { temporal } = scene.environment;
  const { address } = (temporal.connection as Connection).options;
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [scene.held.tool()] })],
    store,
    connection,
    taskQueue: TASK_QUEUE,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    shutdownGraceTime: 0,
  });
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
  client = new HoldfastClient({ temporal, store, taskQueue: TASK_QUEUE });
});
beforeEach(() => scene.held.hold());
afterAll(async () => {
  await stopWorker();
  await store.close();
  await scene.environment.close();
  await server.close();
});

const collect = async (events: AsyncIterable<StoredEvent>, seqs: number[] = []) => {
  for await (const { seq } of events) seqs.push(seq);
  return seqs;
};

test('who follows a session or a turn waits for a store that is away, and misses nothing [message.follow]', async () => {
  const names = newSession();
  const turn = await client.sendMessage({ ...names, message: 'hold' });
  await scene.held.begun();
  const stop = new AbortController();
  const ofSession: number[] = [];
  const ofTurn: number[] = [];
  const readers = [
    collect(client.follow(names, { signal: stop.signal }), ofSession),
    collect(turn.events(), ofTurn),
  ];
  const result = turn.result();
  await expect
    .poll(() => [ofSession, ofTurn])
    .toEqual([
      [1, 2],
      [1, 2],
    ]);
  const looks = vi.spyOn(store, 'findSession');
  onTestFinished(() => looks.mockRestore());
  await server.stop();
  const failed = () => looks.mock.settledResults.filter(({ type }) => type === 'rejected').length;
  await expect.poll(failed).toBeGreaterThan(3);
  // One that begins meanwhile waits, too.
  const late = collect(turn.events());
  await server.start();
  scene.held.release();
  expect(await result).toMatchObject({ status: 'completed', events: { from: 1, to: 4 } });
  expect(await readers[1]).toEqual([1, 2, 3, 4]);
  expect(await late).toEqual([1, 2, 3, 4]);
  await expect.poll(() => ofSession).toEqual([1, 2, 3, 4]);
  stop.abort();
  await Promise.all(readers);
});

test('a store that this process has closed is not waited for [message.follow]', async () => {
  const closing = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  const follower = new HoldfastClient({ temporal: scene.environment.temporal, store: closing });
  const following = collect(follower.follow(newSession()));
  await closing.close();
  await expect(following).rejects.toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
});
