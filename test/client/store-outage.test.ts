import { randomBytes } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { LongRunningFunctionTool } from '../../src/tools/function-tool.ts';
import { createWorker } from '../../worker/index.ts';
import { stubGateway } from '../gateway/gateway-stub.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { stepCalls } from '../setup/scripts.ts';
import { type ClientScene, newSession, openClientScene } from './client-scene.ts';

const TASK_QUEUE = 'outage';
const server = await startPostgresServer();
const silent = () => undefined;

const credentialKeys = { k1: randomBytes(32).toString('base64') };

let handedOut: { id: string; token: string } | undefined;
const ship = new LongRunningFunctionTool({
  name: 'ship',
  description: 'ships',
  execute: (_args, { job: { id, token } }) => {
    handedOut = { id, token };
  },
});

let scene: ClientScene;
let store: OpenedStore;
let client: HoldfastClient;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  scene = await openClientScene();
  store = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  const { temporal } = scene.environment;
  const { address, namespace } = scene.environment.place;
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [scene.held.tool(), ship] })],
    store,
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    credentialKeys,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    shutdownGraceTime: 0,
  });
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
  client = new HoldfastClient({ temporal, store, taskQueue: TASK_QUEUE, credentialKeys });
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
  const looks = vi.spyOn(store.sessions, 'find');
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

test('a callback while the store is away is one to send again, and then its outcome reaches the turn [job.callback]', async () => {
  scene.environment.gemini.reset(stepCalls([[{ name: 'ship' }]]));
  const names = newSession();
  const turn = await client.sendMessage({ ...names, message: 'ship' });
  await expect.poll(async () => (await client.status(names))?.status).toBe('waiting_job');
  const { id = '', token = '' } = handedOut ?? {};
  const { send } = stubGateway(client);
  const callBack = (what: 'complete' | 'progress', body: object) =>
    send(`/v1/jobs/${id}/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await server.stop();
  for (const what of ['complete', 'progress'] as const) {
    const refused = await callBack(what, what === 'complete' ? { result: 7 } : { value: 0.5 });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'HOLDFAST_STORE_UNAVAILABLE' } });
  }
  await server.start();
  await expect.poll(async () => (await callBack('complete', { result: 7 })).status).toBe(200);
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
});

test('a store that this process has closed is not waited for [message.follow]', async () => {
  const closing = await openStore({ url: await server.newDatabase(), connectTimeout: 5_000 });
  const follower = new HoldfastClient({ temporal: scene.environment.temporal, store: closing });
  const following = collect(follower.follow(newSession()));
  await closing.close();
  await expect(following).rejects.toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
});
