import type { Client } from '@temporalio/client';
import type { Closing } from '../../worker/closing.ts';
import type { UiTarget } from '../../worker/temporal/ui-link.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import { latestRun } from '../client/turns/open-run.ts';
import { workflowIdOf } from '../protocol/identity.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import type { OpenedStore } from '../store/open-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { CliError } from './cli-error.ts';
import { type BackendOptions, openBackend } from './environment/backend.ts';
import { storeUrl } from './environment/places.ts';
import { appsOf, isBelow } from './session-queries.ts';

/** The way to a folder's turns and sessions, or to the stored part of them. */
export interface Connected<Api = HoldfastApi> {
  api: Api;
  /** Names of the apps that have sessions; through a gateway, of those that its process serves. */
  apps(): Promise<string[]>;
  /** The place of the Temporal UI's pages; undefined if it is not known. */
  ui(): Promise<UiTarget | undefined>;
  /** Address of the gateway that does the work. */
  gatewayUrl?: string;
}

export interface DirectApiOptions extends Omit<BackendOptions, 'stopsServer'> {
  /**
   * Names a session whose turn is to be started without an agents file: it gets the task queue of the session's last run,
   * which the workers that know its agents poll.
   */
  session?: (apps: Connected['apps']) => Promise<SessionNames>;
}

/** Turns and sessions by the server and the store themselves. An embedded server that this has started is stopped at the end. */
export async function openDirectApi(options: DirectApiOptions, closing: Closing): Promise<Connected> {
  const environment = await openBackend({ ...options, stopsServer: 'if started' });
  closing.add(() => environment.close());
  const { store, server, temporal } = environment;
  const api = environment.client(await taskQueueOf(temporal, store, options));
  return { api, apps: () => appsOf(store), ui: async () => server };
}

/** An embedded store's turns run on queues of their own, one for each agents file. */
async function taskQueueOf(
  client: Client,
  store: OpenedStore,
  { env, session }: DirectApiOptions,
): Promise<string> {
  if (env.HOLDFAST_TASK_QUEUE) return env.HOLDFAST_TASK_QUEUE;
  if (session === undefined) return DEFAULT_TASK_QUEUE;
  const { app, userId, sessionId } = await session(() => appsOf(store));
  const run = await latestRun(client, workflowIdOf(app, userId, sessionId));
  if (run !== undefined) return run.taskQueue;
  // The store refuses operations on the session of an agent that a call has run, and says why.
  if (storeUrl(env) !== undefined || (await isBelow(store, { app, userId, sessionId })))
    return DEFAULT_TASK_QUEUE;
  throw new CliError(
    `Temporal has no history of session ${sessionId} any more, so that its workers' task queue is not known: run its agents ` +
      'file in this folder (holdfast dev), and repeat this, or set HOLDFAST_TASK_QUEUE',
  );
}
