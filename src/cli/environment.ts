import { appendFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import {
  acquireFolder,
  createWorker,
  type HoldfastLogger,
  namesServer,
  openTemporal,
  type TemporalTarget,
} from '../../worker/index.ts';
import type { App } from '../agents/app.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import { HoldfastClient } from '../client/holdfast-client.ts';
import { shortDigest } from '../protocol/identity.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { InvalidStoreUrl } from '../store/store-errors.ts';
import { CliError, sectionOf } from './cli-error.ts';

/** Somebody has pressed Ctrl-C and waits: running tools get a moment, and another attempt later. */
const SHUTDOWN_GRACE_TIME = '1s';

/** A tool that doesn't heed its signal is left behind after this many milliseconds. */
const SHUTDOWN_PATIENCE = 5_000;

export interface Environment {
  store: Store;
  temporal: TemporalTarget;
  client: HoldfastClient;
  /** The task queue that this process's worker polls. */
  taskQueue: string;
  /** Rejects where the worker fails for good; never resolves. */
  failed: Promise<never>;
  /** Ends worker and store. The embedded Temporal server stays up, for its UI, unless it is to stop too. */
  close(options?: { stopServer?: boolean }): Promise<void>;
}

export interface EnvironmentOptions {
  folder: string;
  agents: readonly LlmAgent[];
  apps: readonly App[];
  rootAgent: LlmAgent;
  env: NodeJS.ProcessEnv;
  /**
   * The agents file, whose turns have a task queue of their own where the store is embedded: another file's worker, or
   * another folder's, would take them up without their agents or their transcript.
   */
  taskQueueOf: string;
  onProgress: (line: string) => void;
}

/** Server, store, worker and client of one process, on embedded defaults or on what the environment names. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { env, onProgress } = options;
  const url = env.HOLDFAST_STORE || undefined;
  // With server and store elsewhere there is nothing in the folder to own, and many may run at once.
  const ownership = url !== undefined && namesServer(env) ? undefined : acquireFolder(options.folder);
  const folder = ownership?.folder ?? options.folder;
  const opened: (() => Promise<unknown> | unknown)[] = [() => ownership?.release()];
  let stopServer: (() => Promise<void>) | undefined;
  const close: Environment['close'] = async (closing) => {
    if (closing?.stopServer && stopServer !== undefined) opened.splice(1, 0, stopServer);
    for (const end of opened.splice(0).reverse()) await end();
  };
  try {
    const logger = ownership === undefined ? undefined : fileLogger(join(folder, 'worker.log'));
    Runtime.install({
      logger: logger ?? new DefaultLogger('ERROR'),
      // The SDK's native part writes to standard output by itself unless it is forwarded.
      telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } },
    });
    const storing = openStore({ folder, onProgress, ...(url === undefined ? {} : { url }) }).catch(
      aboutVariable,
    );
    // A wrong address is told before a server is started for nothing.
    if (url !== undefined) await storing;
    storing.then(
      (store) => opened.push(() => store.close()),
      () => undefined,
    );
    const [temporal, store] = await bothOrNone(openTemporal({ folder, env, onProgress }), storing);
    stopServer = temporal.stop;
    const native = await NativeConnection.connect(temporal.connectionOptions);
    opened.push(() => native.close());
    const connection = await Connection.connect(temporal.connectionOptions);
    opened.push(() => connection.close());
    const searchAttributes = temporal.searchAttributes === 'registered';
    const taskQueue =
      env.HOLDFAST_TASK_QUEUE ||
      (url === undefined ? ownQueue(folder, options.taskQueueOf) : DEFAULT_TASK_QUEUE);
    const worker = await createWorker({
      agents: options.agents,
      apps: options.apps,
      rootAgent: options.rootAgent.name,
      store,
      connection: native,
      namespace: temporal.namespace,
      taskQueue,
      searchAttributes,
      shutdownGraceTime: SHUTDOWN_GRACE_TIME,
      logger: logger ?? withoutStacks(onProgress),
    });
    const running = worker.run();
    const failed = new Promise<never>((_resolve, reject) => running.catch(reject));
    failed.catch(() => undefined);
    opened.push(async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.race([
        running.catch(() => undefined),
        setTimeout(SHUTDOWN_PATIENCE, undefined, { ref: false }),
      ]);
    });
    const client = new HoldfastClient({
      temporal: new Client({ connection, namespace: temporal.namespace }),
      store,
      taskQueue,
      searchAttributes,
    });
    return { store, temporal, client, taskQueue, failed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without a folder there is no file for the operator; the terminal gets a line. */
function withoutStacks(onProgress: (line: string) => void): HoldfastLogger {
  const told = (message: string) => onProgress(message);
  const untold = () => undefined;
  return { debug: untold, info: untold, warn: told, error: told };
}

function ownQueue(folder: string, file: string): string {
  return `${DEFAULT_TASK_QUEUE}-${shortDigest(JSON.stringify([resolve(folder), resolve(file)])).slice(0, 8)}`;
}

function aboutVariable(error: unknown): never {
  if (error instanceof InvalidStoreUrl)
    throw new CliError(`HOLDFAST_STORE: ${error.message}\n${sectionOf(error.code)}`);
  throw error;
}

/** Waits for both, so that nothing is still being opened when the first failure is reported. */
async function bothOrNone<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  return [first.value, second.value];
}

/** The SDK's own warnings are for the operator's file; what matters to the person at the terminal is told there. */
function fileLogger(path: string): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    appendFileSync(path, `${time} ${level} ${message} ${JSON.stringify(meta ?? {}, errorAsText)}\n`);
  });
}

function errorAsText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack || value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
