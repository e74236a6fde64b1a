import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { App } from '../../src/agents/app.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OutgoingMessage } from '../../src/client/outgoing-turn.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { StoredEvent } from '../../src/store/store.ts';
import {
  type GeminiScript,
  type GeminiStandIn,
  startGeminiStandIn,
} from '../../src/testing/gemini-stand-in.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import {
  acquireFolder,
  createWorker,
  type HoldfastLogger,
  histogramBuckets,
  openTemporal,
  type WorkerOptions,
} from '../../worker/index.ts';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { endServer } from './end-server.ts';
import { putStore } from './made-store.ts';
import { stepCalls } from './scripts.ts';

export type History = temporal.api.history.v1.IHistory;

export interface RanTurn {
  result: TurnResult;
  events: StoredEvent[];
  history: History;
  workflowId: string;
}

/** A Temporal server, a store, a Gemini stand-in and a worker, all real, in this process. */
export interface TurnEnvironment {
  temporal: Client;
  client: HoldfastClient;
  store: OpenedStore;
  gemini: GeminiStandIn;
  /** Of the server’s UI. */
  uiUrl: string | undefined;
  /** Of server and store. */
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
  /** Dynamic configuration of the Temporal server, `limit.historyCount.suggestContinueAsNew=20` for one. */
  serverConfig?: readonly string[];
  /** Gets what Holdfast warns of, and what Temporal's worker does, as text. */
  logger?: PartialLogger;
  /** Of client and worker alike. */
  dataConverter?: DataConverter;
  workerOptions?: Partial<WorkerOptions>;
  /** Its workers are those of production, which let no time pass at an order. */
  production?: boolean;
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
  const gemini = await startGeminiStandIn({ script: options.script ?? stepCalls([]) });
  Object.assign(process.env, gemini.env);
  const env = await serverEnvironment(folder, options.serverConfig ?? []);
  putStore(folder);
  const [server, store] = await Promise.all([openTemporal({ folder, env }), openStore({ folder })]);
  const connection = await Connection.connect({
    ...server.connectionOptions,
    channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
    interceptors: retriesUntilClosed(),
  });
  const native = await NativeConnection.connect(server.connectionOptions);
  const temporalClient = new Client({
    connection,
    namespace: server.namespace,
    ...(dataConverter ? { dataConverter } : {}),
  });
  const startWorker = async () => {
    const worker = await (options.production ? createWorker : createTestWorker)({
      ...(agents ? { agents } : {}),
      ...(apps ? { apps } : {}),
      store,
      connection: native,
      searchAttributes: true,
      logger: { ...SILENT, ...logger },
      shutdownGraceTime: 0,
      ...(dataConverter ? { dataConverter } : {}),
      ...options.workerOptions,
    });
    return { worker, running: worker.run() };
  };
  let current: Awaited<ReturnType<typeof startWorker>> | undefined = await startWorker();
  const stopWorker = async () => {
    current?.worker.shutdown();
    await current?.running;
    current = undefined;
  };
  const client = new HoldfastClient({ temporal: temporalClient, store, searchAttributes: true });
  return {
    temporal: temporalClient,
    client,
    store,
    gemini,
    uiUrl: server.uiUrl,
    folder,
    async run(turn) {
      const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
      const handle = await client.sendMessage({ ...names, ...turn });
      const result = await handle.result();
      return {
        result,
        workflowId: handle.workflowId,
        events: await store.readEvents({ ...names, ...pick(turn) }),
        history: await temporalClient.workflow.getHandle(handle.workflowId, handle.runId).fetchHistory(),
      };
    },
    stopWorker,
    async restartWorker() {
      await stopWorker();
      current = await startWorker();
    },
    async close() {
      await stopWorker();
      await store.close();
      await native.close();
      await connection.close();
      await endServer(folder);
      await gemini.close();
      release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The server's configuration is no option of the product: a script in the executable's place adds it. */
async function serverEnvironment(folder: string, config: readonly string[]): Promise<NodeJS.ProcessEnv> {
  if (config.length === 0) return process.env;
  const { path } = await obtainExecutable({
    configured: process.env.HOLDFAST_TEMPORAL_CLI,
    cacheFolder: defaultCacheFolder(process.env),
    env: process.env,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  const script = join(folder, 'temporal-configured');
  const flags = config.map((pair) => `--dynamic-config-value '${pair}'`).join(' ');
  const lines = ['#!/bin/sh', `[ "$2" = start-dev ] && set -- "$@" ${flags}`, `exec '${path}' "$@"`, ''];
  writeFileSync(script, lines.join('\n'), { mode: 0o700 });
  return { ...process.env, HOLDFAST_TEMPORAL_CLI: script };
}

function pick({ app, userId, sessionId }: Partial<OutgoingMessage>) {
  return { ...(app ? { app } : {}), ...(userId ? { userId } : {}), ...(sessionId ? { sessionId } : {}) };
}
