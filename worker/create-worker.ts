import { Context as ActivityContext, activityInfo, Context } from '@temporalio/activity';
import {
  type NativeConnection,
  Runtime,
  type WorkerOptions as TemporalWorkerOptions,
  Worker,
} from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.ts';
import type { OwnMessage } from '../activities/dependencies.ts';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { TracingOptions } from '../activities/telemetry/tracing.ts';
import { TurnMetrics } from '../activities/telemetry/turn-metrics.ts';
import type { BaseAgent } from '../src/agents/base-agent.ts';
import type { App } from '../src/app/app.ts';
import { ArtifactBytes, type ArtifactBytesOptions } from '../src/artifacts/artifact-bytes.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import {
  credentialKeysOf,
  credentialKeysOfVariables,
  type GivenCredentialKeys,
} from '../src/credentials/credential-keys.ts';
import { setVariables } from '../src/environment.ts';
import { TranscriptCache } from '../src/flows/transcript-cache.ts';
import { unfailing } from '../src/gateway/unfailing-logger.ts';
import { Connections } from '../src/oauth/connections.ts';
import { isForPeople } from '../src/oauth/oauth-provider.ts';
import { DEFAULT_TASK_QUEUE } from '../src/protocol/names.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';
import { assertKnownFields } from '../src/schema/known-fields.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import type { Store } from '../src/store/store.ts';
import { testWorkflowBundle, workflowBundle } from './bundle.ts';
import { checkToolsets, deploy, tellSandboxes } from './deploy.ts';
import { jsonLogger } from './json-logger.ts';
import { type GivenPublicUrl, publicUrl, transcriptUrl } from './page-addresses.ts';
import { PASSED_OPTIONS, type PassedOptions, passedOptions } from './passed-options.ts';
import { workPeriodically } from './periodic-work.ts';
import { scheduleRetention } from './retention-schedule.ts';
import { tracingOf } from './tracing-options.ts';
import { WatchedWorker } from './watched-worker.ts';
import { endWith, logLifecycle } from './worker-end.ts';

/** Options of {@link createWorker}: at least one agent, here or in an app. */
export interface WorkerOptions extends PassedOptions {
  /** Roots of the trees of agents that this worker runs, in every app unless one of `apps` has that root; their names are unique. */
  agents?: readonly BaseAgent[];
  /** Apps whose settings this worker knows; each brings its root agent, which runs in theirs alone. Other apps have the defaults. */
  apps?: readonly App[];
  /**
   * Name of the agent that answers where neither turn nor session nor app names one. Defaults to the first of `agents`, else
   * the first app's.
   */
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
  /**
   * How long running activities may go on after a shutdown was asked for. Unfinished ones are tried again by another worker.
   * Milliseconds or a string; defaults to 10 s.
   */
  shutdownGraceTime?: TemporalWorkerOptions['shutdownGraceTime'];
  /**
   * Gets failed attempts, unexpected errors, and when the worker begins and ends. Defaults to JSON lines on standard error
   * (`jsonLogger()`). Temporal's own lines go to the logger of `Runtime.install`.
   */
  logger?: HoldfastLogger;
  /**
   * Spans of turns, model calls and tools, in OpenTelemetry's conventions for generative AI. Metrics need no option: they go
   * where those of Temporal's SDK go, as `Runtime.install({ telemetryOptions: { metrics } })` says.
   */
  tracing?: TracingOptions;
  /** Place of the bytes of artifacts. @default the bucket of HOLDFAST_ARTIFACTS; without it the store keeps up to 100 MiB of each */
  artifacts?: ArtifactBytesOptions;
  /**
   * Page on which people read a session's transcript, linked from its run in the Temporal UI: a URL with the places `{app}`, `{user}`
   * and `{session}`. Without it the run names the command that shows it.
   */
  transcriptUrl?: string;
  /**
   * Keys that encrypt the credentials of users: text as in `HOLDFAST_CREDENTIAL_KEYS`, or base64 of 32 bytes by id. The first
   * encrypts, all decrypt. Programs that store credentials need the same keys.
   *
   * @default what `HOLDFAST_CREDENTIAL_KEYS` says; without it tools that need a credential fail
   */
  credentialKeys?: GivenCredentialKeys;
  /**
   * Where services outside reach the gateway, for `context.job.callbackUrl`: `https://agents.example.com`. A function if it is
   * known only after the worker is made, for example an address with a chosen port.
   *
   * @default what `HOLDFAST_PUBLIC_URL` says; without it `context.job.callbackUrl` throws
   */
  publicUrl?: GivenPublicUrl;
  /** Path of another workflow bundle than the packaged one. */
  workflowBundlePath?: string;
  /**
   * Whether the Temporal UI shows call stacks of workflows, for work on the interpreter itself: its workflow thread then takes about
   * three times as long for a turn of ten calls. Defaults to false, as a run's details say what it does.
   */
  stackTraces?: boolean;
}

const FIELDS: readonly string[] = [
  'agents',
  'apps',
  'rootAgent',
  'store',
  'connection',
  'namespace',
  'taskQueue',
  'searchAttributes',
  'transcriptCacheBytes',
  'maxCachedWorkflows',
  'shutdownGraceTime',
  'logger',
  'tracing',
  'transcriptUrl',
  'credentialKeys',
  'publicUrl',
  'artifacts',
  'workflowBundlePath',
  'stackTraces',
  ...PASSED_OPTIONS,
] satisfies (keyof WorkerOptions)[];

/**
 * A Temporal worker that runs turns, their model calls and their tools.
 *
 * @throws BundleMismatch where the workflow bundle was built for another SDK or protocol.
 * @throws DefinitionError naming the option, the agent or the app.
 * @throws InvalidCredentialKeys for keys that are none.
 * @example
 * const worker = await createWorker({ apps: [shop], store, connection });
 * await worker.run();
 */
export async function createWorker(options: WorkerOptions): Promise<Worker> {
  return await workerOf(options, workflowBundle);
}

/**
 * As {@link createWorker}, for test environments alone: its workflows take the updates by which requests and jobs run out of time at
 * once.
 */
export async function createTestWorker(options: WorkerOptions): Promise<Worker> {
  return await workerOf(options, testWorkflowBundle);
}

async function workerOf(
  options: WorkerOptions,
  bundle: typeof workflowBundle | typeof testWorkflowBundle,
): Promise<Worker> {
  assertKnownFields('createWorker', options, FIELDS);
  const { store, connection, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE } = options;
  const { searchAttributes = false } = options;
  const deployment = deploy(options);
  const credentialKeys =
    options.credentialKeys === undefined
      ? credentialKeysOfVariables(setVariables())
      : credentialKeysOf(options.credentialKeys);
  const passed = passedOptions(options);
  const tracing = await tracingOf(options.tracing);
  const logger = unfailing(checkedLogger(options.logger ?? jsonLogger()));
  await checkToolsets(deployment, logger);
  await tellSandboxes(deployment, logger);
  // Codecs may come from plugins, also from those of the connection: until they are known, nothing is told.
  let conceal = true;
  let metrics: TurnMetrics;
  const connections = new Connections(store.credentials, credentialKeys);
  const artifacts = ArtifactBytes.of(store.blobs, options.artifacts);
  const worker = await (options.stackTraces ? Worker : WatchedWorker).create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: await bundle(options.workflowBundlePath),
    activities: createActivities({
      deployment,
      store,
      transcripts: new TranscriptCache(options.transcriptCacheBytes),
      logger,
      telemetry: {
        tracing,
        get metrics() {
          return metrics;
        },
      },
      artifacts,
      credentials: connections,
      transcriptUrl: transcriptUrl(options.transcriptUrl),
      searchAttributes,
      publicUrl: publicUrl(options.publicUrl, setVariables()),
      credentialKeys,
      temporal: () => ActivityContext.current().client,
      sendMessage: ownMessages({ store, searchAttributes }),
      get conceal() {
        return conceal;
      },
    }),
    // A restarted worker waits this long for each workflow that the dead one had cached.
    stickyQueueScheduleToStartTimeout: '1s',
    // A cancellation reaches an activity with its next heartbeat.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    maxCachedWorkflows: options.maxCachedWorkflows ?? 200,
    shutdownGraceTime: options.shutdownGraceTime ?? '10s',
    ...passed,
  });
  // Not before the worker, which makes the runtime: a program may install its own after one that was refused.
  metrics = new TurnMetrics(Runtime.instance().metricMeter);
  try {
    const apps = deployment.apps.values();
    await scheduleRetention({ apps, connection, namespace, taskQueue, dataConverter: options.dataConverter });
  } catch (error) {
    // Turns are served nevertheless; sessions that are kept for too long are found out by this line.
    logger.error('the retention of sessions is not scheduled', { reason: thrownMessage(error) });
  }
  for (const { name: app, durable } of deployment.apps.values())
    for (const [key, provider] of Object.entries(durable.oauth).filter(([, each]) => isForPeople(each)))
      await connections.keepProvider(app, key, provider).catch((error: unknown) => {
        // Calls that need its tokens try it again, and fail with the reason.
        const reason = thrownMessage(error);
        logger.error('where people consent is not kept', { app, provider: key, reason });
      });
  conceal = worker.options.loadedDataConverter.payloadCodecs.length > 0;
  const isMeasured = Runtime.instance().options.runtimeOptions.metricsExporter !== null;
  workPeriodically(worker, { store, artifacts, logger, metrics: isMeasured ? metrics : undefined });
  endWith(worker, { deployment, tracing, logger });
  logLifecycle(worker, logger, {
    taskQueue,
    namespace,
    agents: [...deployment.roots.keys()],
    apps: [...deployment.apps.keys()],
    identity: worker.options.identity,
  });
  return worker;
}

function checkedLogger(logger: HoldfastLogger): HoldfastLogger {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    if (typeof logger[level] === 'function') continue;
    throw new DefinitionError({
      owner: 'createWorker',
      field: `logger.${level}`,
      problem: 'expected a function of a message and its attributes',
    });
  }
  return logger;
}

/** Sends messages from within activities, to where their own turns run. */
function ownMessages(options: {
  store: Store;
  searchAttributes: boolean;
}): (message: OwnMessage) => Promise<void> {
  return async (message) => {
    const { client: temporal } = Context.current();
    const { taskQueue } = activityInfo();
    const client = new HoldfastClient({ temporal, taskQueue, ...options });
    await client.sendMessage(message);
  };
}
