import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { App } from '../../src/app/app.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-turn.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { StoredEvent } from '../../src/store/sessions/stored-event.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import {
  acquireFolder,
  createWorker,
  type HoldfastLogger,
  histogramBuckets,
  type WorkerOptions,
} from '../../worker/index.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { putStore } from './made-store.ts';
import { databaseWithStore } from './own-database.ts';
import { ownNamespace, type TemporalPlace } from './own-namespace.ts';
import { stepCalls } from './scripts.ts';
import { TemporalServer } from './temporal-server.ts';

export type History = temporal.api.history.v1.IHistory;

export interface RanTurn {
  result: TurnResult;
  events: StoredEvent[];
  history: History;
  workflowId: string;
}

/** A Temporal server, a store, a mock Gemini server and a worker, all real, in this process. */
export interface TurnEnvironment {
  temporal: Client;
  client: HoldfastClient;
  store: OpenedStore;
  gemini: MockGemini;
  /** Where its Temporal server is, and on it what is its own. */
  place: TemporalPlace;
  /** Of an embedded store, and of a server of its own. */
  folder: string;
  /** Runs a turn to its end; app, user and a new session are filled in. */
  run(turn: Partial<OutgoingMessage> & { message: OutgoingMessage['message'] }): Promise<RanTurn>;
  /** Shuts the worker down, its activities interrupted. */
  stopWorker(): Promise<void>;
  /** Starts another worker in the place of the one that runs, or was stopped. */
  restartWorker(): Promise<void>;
  close(): Promise<void>;
}

const QUIET = new DefaultLogger('ERROR', ({ message, meta }) =>
  process.stderr.write(`${message} ${String(meta?.error)}\n`),
);

/** What a test asks for is all that it must give. */
type PartialLogger = Pick<HoldfastLogger, 'warn'> & Partial<HoldfastLogger>;

const silent = () => undefined;
const SILENT: HoldfastLogger = { debug: silent, info: silent, warn: silent, error: silent };

const warningsFor = (logger: PartialLogger) =>
  new DefaultLogger('WARN', ({ message, meta }) => logger.warn(`${message} ${inspect(meta, { depth: 9 })}`));

export interface TurnEnvironmentOptions {
  agents?: readonly BaseAgent[];
  apps?: readonly App[];
  script?: GeminiScript;
  /** The Temporal server is its own, with this dynamic configuration: `SHORT_RUNS` for one. */
  serverConfig?: readonly string[] | undefined;
  /** Gets what Holdfast warns of, and what Temporal's worker does, as text. */
  logger?: PartialLogger;
  /** Of client and worker alike. */
  dataConverter?: DataConverter;
  workerOptions?: Partial<WorkerOptions>;
  /** Its workers are those of production, which let no time pass at an order. */
  production?: boolean;
  /** The store is the embedded one, in `folder`, instead of a database on PostgreSQL. */
  embedded?: boolean;
  /** host:port where the runtime's metrics are served. */
  metricsAddress?: string;
}

export async function openTurnEnvironment(options: TurnEnvironmentOptions): Promise<TurnEnvironment> {
  const { logger, agents, apps, dataConverter } = options;
  const metrics =
    options.metricsAddress === undefined
      ? {}
      : {
          telemetryOptions: {
            metrics: {
              prometheus: {
                bindAddress: options.metricsAddress,
                histogramBucketOverrides: histogramBuckets,
              },
            },
          },
        };
  Runtime.install(
    logger === undefined
      ? { logger: QUIET, ...metrics }
      : {
          logger: warningsFor(logger),
          telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
        },
  );
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  const gemini = await startMockGemini({ script: options.script ?? stepCalls([]) });
  Object.assign(process.env, gemini.env);
  const [server, { store, remove }] = await Promise.all([
    openServer(folder, options.serverConfig),
    options.embedded ? openInFolder(folder) : openOnServer(),
  ]);
  const { address, namespace, uiUrl } = server;
  const connection = await Connection.connect({
    address,
    channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
    interceptors: retriesUntilClosed(),
  });
  const native = await NativeConnection.connect({ address });
  const temporalClient = new Client({
    connection,
    namespace,
    ...(dataConverter ? { dataConverter } : {}),
  });
  const workers = await startWorkers(() =>
    (options.production ? createWorker : createTestWorker)({
      ...(agents ? { agents } : {}),
      ...(apps ? { apps } : {}),
      store,
      connection: native,
      namespace,
      searchAttributes: true,
      logger: { ...SILENT, ...logger },
      shutdownGraceTime: 0,
      ...(dataConverter ? { dataConverter } : {}),
      ...options.workerOptions,
    }),
  );
  const client = new HoldfastClient({ temporal: temporalClient, store, searchAttributes: true });
  return {
    temporal: temporalClient,
    client,
    store,
    gemini,
    place: { address, namespace, uiUrl },
    folder,
    run: (turn) => runTurn({ client, temporal: temporalClient, store }, turn),
    ...workers,
    async close() {
      await workers.stopWorker();
      await store.close();
      await remove();
      await native.close();
      await connection.close();
      await server.close();
      await gemini.close();
      release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface OwnStore {
  store: OpenedStore;
  /** After its end. */
  remove(): Promise<void>;
}

async function openInFolder(folder: string): Promise<OwnStore> {
  putStore(folder);
  return { store: await openStore({ folder }), remove: async () => undefined };
}

async function openOnServer(): Promise<OwnStore> {
  const { url, drop } = await databaseWithStore();
  return { store: await openStore({ url, listen: url }), remove: drop };
}

/** Starts a worker that can be stopped, and followed by one that is created like it. */
export async function startWorkers(
  create: () => Promise<Worker>,
): Promise<Pick<TurnEnvironment, 'stopWorker' | 'restartWorker'>> {
  let current: { worker: Worker; running: Promise<void> } | undefined;
  const start = async () => {
    const worker = await create();
    current = { worker, running: worker.run() };
  };
  const stopWorker = async () => {
    current?.worker.shutdown();
    await current?.running;
    current = undefined;
  };
  await start();
  return {
    stopWorker,
    async restartWorker() {
      await stopWorker();
      await start();
    },
  };
}

/** Runs a turn to its end; app, user and a new session are filled in. */
export async function runTurn(
  { client, temporal, store }: Pick<TurnEnvironment, 'client' | 'temporal' | 'store'>,
  turn: Parameters<TurnEnvironment['run']>[0],
): Promise<RanTurn> {
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const handle = await client.sendMessage({ ...names, ...turn });
  const result = await handle.result();
  return {
    result,
    workflowId: handle.workflowId,
    events: await store.sessions.readEvents({ ...names, ...pick(turn) }),
    history: await temporal.workflow.getHandle(handle.workflowId, handle.runId).fetchHistory(),
  };
}

async function openServer(folder: string, config: readonly string[] | undefined) {
  if (config === undefined) return { ...(await ownNamespace()), close: async () => undefined };
  const server = await TemporalServer.start(folder, { config });
  const { address, uiUrl } = server;
  return { address, uiUrl, namespace: 'default', close: () => server.close() };
}

function pick({ app, userId, sessionId }: Partial<OutgoingMessage>) {
  return { ...(app ? { app } : {}), ...(userId ? { userId } : {}), ...(sessionId ? { sessionId } : {}) };
}
