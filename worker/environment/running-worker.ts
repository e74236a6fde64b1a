import { setTimeout } from 'node:timers/promises';
import { NativeConnection, type RuntimeOptions, type WorkerInterceptors } from '@temporalio/worker';
import { retryLater } from '../../activities/attempt.ts';
import { raceEndings } from '../../activities/deadline.ts';
import { defined } from '../../src/protocol/json.ts';
import { createWorker, type WorkerOptions } from '../create-worker.ts';
import { installRuntime } from './install-runtime.ts';
import type { Environment } from './open-environment.ts';

/** The part of an environment that a worker needs: another process has the rest. */
export interface WorkerPlace extends Pick<Environment, 'credentialKeys' | 'dataConverter'> {
  server: Pick<Environment['server'], 'connectionOptions' | 'namespace' | 'searchAttributes'>;
  store: WorkerOptions['store'];
}

export type RunningWorkerOptions = Omit<WorkerOptions, 'store' | 'connection' | 'namespace'> & {
  /** Defaults to `createWorker`. */
  create?: typeof createWorker;
  /** Of Temporal's runtime, if the process has none yet. Defaults to the SDK's. */
  runtime?: RuntimeOptions;
};

/** A worker that polls. */
export interface RunningWorker {
  /** Resolves once it has ended as it was told to, rejects where it failed for good. */
  ended: Promise<void>;
  /** Takes no new tasks, and ends when those that run are done or the grace time is over. */
  drain(): void;
  /** Ends at once: what runs is tried again by another worker. */
  leave(): void;
  /** Whether it takes tasks. */
  polls(): boolean;
  /** Activities that run now. */
  running(): number;
  /**
   * Drains, and waits for the end.
   *
   * @param patience milliseconds after which a worker that doesn't end is given up. Absent: never.
   * @throws the error by which it has failed for good
   */
  close(patience?: number): Promise<void>;
}

/** Starts a worker with a connection of its own. */
export async function startWorker(
  { server, store, credentialKeys, dataConverter }: WorkerPlace,
  { create = createWorker, runtime, ...options }: RunningWorkerOptions,
): Promise<RunningWorker> {
  if (runtime !== undefined) installRuntime(runtime);
  const connection = await NativeConnection.connect(server.connectionOptions);
  const left = new AbortController();
  let running = 0;
  const leaving = leavingActivities(left.signal, (by) => {
    running += by;
  });
  try {
    const worker = await create({
      searchAttributes: server.searchAttributes === 'registered',
      ...defined({ credentialKeys, dataConverter }),
      ...options,
      ...{ store, connection, namespace: server.namespace },
      interceptors: {
        ...options.interceptors,
        activity: [...(leaving.activity ?? []), ...(options.interceptors?.activity ?? [])],
      },
    });
    const ended = worker.run().finally(() => connection.close());
    ended.catch(() => undefined);
    const drain = () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    return {
      ended,
      drain,
      leave() {
        drain();
        left.abort();
      },
      polls: () => worker.getState() === 'RUNNING',
      running: () => running,
      async close(patience) {
        drain();
        await (patience === undefined
          ? ended
          : Promise.race([ended, setTimeout(patience, undefined, { ref: false })]));
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * A worker's way out before its grace time is over: running activities are left where they are, and their next attempts
 * follow at once, on another worker. Costs them what the loss of a worker costs.
 */
function leavingActivities(left: AbortSignal, count: (by: 1 | -1) => void): WorkerInterceptors {
  const leave = () =>
    retryLater('WorkerShutdown', 'the worker is shutting down; another attempt follows', { benign: true });
  return {
    activity: [
      () => ({
        inbound: {
          execute: async (input, next) => {
            count(1);
            try {
              return await raceEndings(next(input), [[left, leave]]);
            } finally {
              count(-1);
            }
          },
        },
      }),
    ],
  };
}
