import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { defined } from '../../src/protocol/json.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { type PostgresServer, startPostgresServer } from '../setup/postgres-server.ts';
import { SoakEffects } from '../setup/soak-effects.ts';
import { Outages } from '../setup/soak-outages.ts';
import { SoakWorker } from '../setup/soak-worker.ts';
import type { StepMode } from '../setup/step-mode.ts';
import { SHORT_RUNS, TemporalServer } from '../setup/temporal-server.ts';
import type { Victim } from './chaos.ts';
import { SoakModel } from './model.ts';

const TASK_QUEUE = 'soak';

const LONGEST_START = 60_000;
const PAUSE = 200;

const CHANNEL = {
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  // gRPC's default waits a second and more after the first refusal.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
};

export interface StageOptions {
  /** Where everything is kept. */
  folder: string;
  store: 'pglite' | 'postgres';
  /** Worker processes; PGlite has one. */
  workers: number;
  steps?: StepMode | undefined;
  /** Told of what no kill explains. */
  onProblem: (what: string) => void;
}

/** All processes of a soak, those that are killed and those that look on. */
export interface Stage {
  victims: Victim[];
  outages: Outages;
  effects: SoakEffects;
  model: SoakModel;
  gemini: MockGemini;
  temporal: Client;
  clients: readonly [HoldfastClient, HoldfastClient];
  failedStarts(): number;
  /** Bytes that the first worker's heap holds after a garbage collection. */
  heapUsed(): Promise<number>;
  /** Ends the workers and opens the store to look at. */
  openStore(): Promise<OpenedStore>;
  /**
   * Ends all processes. A client of gRPC that still tries again by itself throws out of a timer where its connection is
   * closed: without `quiet` connections are left to end with this process.
   */
  close(quiet: boolean): Promise<void>;
}

export async function openStage(options: StageOptions): Promise<Stage> {
  const { folder, onProblem } = options;
  const closing: (() => Promise<unknown>)[] = [];
  const connections: Connection[] = [];
  const connect = async (address: string) => {
    const connection = await Connection.connect({
      interceptors: retriesUntilClosed(),
      address,
      channelArgs: CHANNEL,
    });
    connections.push(connection);
    return connection;
  };
  const close = async (quiet: boolean) => {
    if (quiet) for (const connection of connections.splice(0)) await connection.close();
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    mkdirSync(folder, { recursive: true });
    const outages = new Outages();
    const effects = new SoakEffects(folder);
    const model = new SoakModel();
    const gemini = await startMockGemini({ script: model.script });
    closing.push(() => gemini.close());
    const server = await TemporalServer.start(folder, { config: SHORT_RUNS });
    closing.push(() => server.close());
    const database = options.store === 'postgres' ? await startPostgresServer() : undefined;
    if (database !== undefined) closing.push(() => database.close());
    const place = database === undefined ? { folder } : { url: await database.newDatabase() };

    const workers = Array.from(
      { length: database === undefined ? 1 : options.workers },
      (_, index) =>
        new SoakWorker({
          options: {
            address: server.address,
            taskQueue: TASK_QUEUE,
            effects: folder,
            store: place,
            ...defined({ steps: options.steps }),
          },
          env: gemini.env,
          log: join(folder, `worker-${index + 1}.log`),
          outages,
          onExit: (how) => onProblem(`worker ${index + 1} exited by itself: ${how}`),
        }),
    );
    for (const worker of workers) closing.push(() => worker.close());
    await Promise.all(workers.map((worker) => worker.start()));

    const openClient = async () => {
      const temporal = { connection: await connect(server.address) };
      const client = { temporal, taskQueue: TASK_QUEUE, searchAttributes: true };
      // With PGlite the store is a worker's own, and its clients have none.
      if (!('url' in place)) return new HoldfastClient(client);
      const store = await openStore(place);
      closing.push(() => store.close());
      return new HoldfastClient({ ...client, store });
    };
    const clients = [await openClient(), await openClient()] as const;
    const temporal = new Client({ connection: await connect(server.address) });
    return {
      victims: [
        ...oneWorker(workers),
        { kind: 'temporal', restless: false, kill: () => server.kill(), start: () => server.start() },
        ...(database === undefined ? [] : [storeVictim(database)]),
      ],
      outages,
      effects,
      model,
      gemini,
      temporal,
      clients,
      failedStarts: () => workers.reduce((sum, { failedStarts }) => sum + failedStarts, 0),
      heapUsed: async () => (await workers[0]?.heapUsed()) ?? 0,
      async openStore() {
        for (const worker of workers) await worker.close();
        const store = await openStore(place);
        closing.push(() => store.close());
        return store;
      },
      close,
    };
  } catch (error) {
    await close(true);
    throw error;
  }
}

/** Each has its turn to be killed: in a round of kills as many workers die as other victims. */
function oneWorker(workers: readonly SoakWorker[]): Victim[] {
  let next = 0;
  let victim = workers[0];
  return [
    {
      kind: 'worker',
      restless: true,
      kill: async () => {
        victim = workers[next++ % workers.length];
        await victim?.kill();
      },
      start: async () => victim?.start(),
    },
  ];
}

function storeVictim(database: PostgresServer): Victim {
  return { kind: 'store', restless: false, kill: () => database.kill(), start: () => startAgain(database) };
}

/** While it was down, its port may have become that of somebody's connection. */
async function startAgain(database: PostgresServer): Promise<void> {
  const deadline = Date.now() + LONGEST_START;
  for (;;) {
    try {
      return await database.start();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await setTimeout(PAUSE);
    }
  }
}
