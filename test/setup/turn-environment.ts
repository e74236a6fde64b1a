import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, type RuntimeOptions } from '@temporalio/worker';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { App } from '../../src/app/app.ts';
import type { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { defined } from '../../src/protocol/json.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import type { OpenedStore } from '../../src/store/open-store.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { RestartedWorker } from '../../src/testing/open-test-environment.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import { type Environment, openEnvironment } from '../../worker/environment/open-environment.ts';
import { startWorker } from '../../worker/environment/running-worker.ts';
import {
  acquireFolder,
  createWorker,
  type HoldfastLogger,
  histogramBuckets,
  type WorkerOptions,
} from '../../worker/index.ts';
import { putStore } from './made-store.ts';
import { databaseWithStore } from './own-database.ts';
import { ownNamespace, type TemporalPlace } from './own-namespace.ts';
import { stepCalls } from './scripts.ts';
import { inStepMode } from './step-mode.ts';
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
  /** What its workers are opened on. */
  environment: Environment;
  runtime: RuntimeOptions;
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
  const { logger, agents = [], apps = [], dataConverter } = options;
  inStepMode([...agents, ...apps.map(({ rootAgent }) => rootAgent)]);
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
  const runtime: RuntimeOptions =
    logger === undefined
      ? { logger: QUIET, ...metrics }
      : {
          logger: warningsFor(logger),
          telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
        };
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  const gemini = await startMockGemini({ script: options.script ?? stepCalls([]) });
  Object.assign(process.env, gemini.env);
  if (options.embedded) putStore(folder);
  const [server, database] = await Promise.all([
    openServer(folder, options.serverConfig),
    options.embedded ? undefined : databaseWithStore(),
  ]);
  const { address, namespace, uiUrl } = server;
  const environment = await openEnvironment({
    folder,
    env: { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
    store: database && { url: database.url, listen: database.url },
    dataConverter,
    onProgress: silent,
  });
  const { store, temporal } = environment;
  const worker = new RestartedWorker(() =>
    startWorker(placeFor(environment, options.workerOptions), {
      ...(agents.length === 0 ? {} : { agents }),
      ...{ apps, ...defined({ dataConverter }) },
      runtime,
      create: options.production ? createWorker : createTestWorker,
      logger: { ...SILENT, ...logger },
      shutdownGraceTime: 0,
      ...options.workerOptions,
    }),
  );
  await worker.restart();
  const client = environment.client();
  return {
    ...{ environment, runtime, temporal, client, store, gemini, folder },
    place: { address, namespace, uiUrl },
    run: (turn) => runTurn({ client, temporal, store }, turn),
    stopWorker: () => worker.stop(),
    restartWorker: () => worker.restart(),
    async close() {
      await worker.close();
      await environment.close();
      await database?.drop();
      await server.close();
      await gemini.close();
      release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A test's worker may have a store of its own. */
export function placeFor(environment: Environment, options: Partial<WorkerOptions> | undefined): Environment {
  return { ...environment, store: (options?.store as OpenedStore | undefined) ?? environment.store };
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
