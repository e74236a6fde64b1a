import {
  type NativeConnection,
  type WorkerOptions as TemporalWorkerOptions,
  Worker,
} from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.ts';
import type { ActivityLogger } from '../activities/dependencies.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { TranscriptCache } from '../src/flows/transcript-cache.ts';
import { DEFAULT_TASK_QUEUE } from '../src/protocol/names.ts';
import type { Store } from '../src/store/store.ts';
import { workflowBundle } from './bundle.ts';
import { deploy } from './deploy.ts';

/** Options of {@link createWorker}. */
export interface WorkerOptions {
  /** Agents that this worker runs; names are unique. */
  agents: readonly LlmAgent[];
  /** Name of the agent that answers where neither turn nor session names one. Defaults to the first agent's. */
  rootAgent?: string;
  store: Store;
  connection: NativeConnection;
  /** Defaults to `default`. */
  namespace?: string;
  /** Defaults to `holdfast`. */
  taskQueue?: string;
  /** Whether the server knows Holdfast's search attributes; see `openTemporal`. Defaults to false. */
  searchAttributes?: boolean;
  /** Transcripts kept in memory, in bytes. Defaults to 64 MiB. */
  transcriptCacheBytes?: number;
  /** Workflows kept in memory between their tasks. Defaults to 200: more parked turns cost no memory and answer no slower. */
  maxCachedWorkflows?: number;
  /** How long running activities may go on after a shutdown was asked for. Milliseconds or a string; defaults to 10 s. */
  shutdownGraceTime?: TemporalWorkerOptions['shutdownGraceTime'];
  /** Who this worker is in the Temporal UI. Defaults to `<pid>@<host>`. */
  identity?: string;
  /** Gets warnings of failed attempts. Defaults to standard error. */
  logger?: ActivityLogger;
  /** Path of another workflow bundle than the packaged one. */
  workflowBundlePath?: string;
}

/**
 * A Temporal worker that runs turns, their model calls and their tools.
 *
 * @throws BundleMismatch where the workflow bundle was built for another SDK or protocol.
 * @example
 * const worker = await createWorker({ agents: [support], store, connection });
 * await worker.run();
 */
export async function createWorker(options: WorkerOptions): Promise<Worker> {
  const { store, connection, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE } = options;
  return await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: await workflowBundle(options.workflowBundlePath),
    activities: createActivities({
      deployment: deploy(options.agents, options.rootAgent),
      store,
      transcripts: new TranscriptCache(options.transcriptCacheBytes),
      logger: options.logger ?? STANDARD_ERROR,
      searchAttributes: options.searchAttributes ?? false,
    }),
    // A restarted worker waits this long for each workflow that the dead one had cached.
    stickyQueueScheduleToStartTimeout: '1s',
    // A cancellation reaches an activity with its next heartbeat.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    maxCachedWorkflows: options.maxCachedWorkflows ?? 200,
    shutdownGraceTime: options.shutdownGraceTime ?? '10s',
    ...(options.identity === undefined ? {} : { identity: options.identity }),
  });
}

const STANDARD_ERROR: ActivityLogger = {
  warn(message, attributes) {
    process.stderr.write(`${message} ${JSON.stringify(attributes ?? {})}\n`);
  },
};
