import { setTimeout } from 'node:timers/promises';
import { type HoldfastLogger, histogramBuckets } from '../../../worker/index.ts';
import { resolveModels } from '../../agents/agents-of-tree.ts';
import { ownVersion } from '../../own-files.ts';
import { lacksGeminiKey, offerGemini } from '../../testing/offer-gemini.ts';
import { describeError, exitCodeFor } from '../cli-error.ts';
import { type AgentsEnvironment, openAgentsEnvironment } from '../environment/agents-environment.ts';
import { openBackend } from '../environment/backend.ts';
import { ownAlone } from '../environment/folder-access.ts';
import { isJson, type LogOptions, operatorLog } from '../environment/operator-log.ts';
import { otlpMetrics, otlpTracing } from '../environment/otlp.ts';
import { needsFolder, storeUrl } from '../environment/places.ts';
import { stopSignals } from '../environment/stop-signals.ts';
import { waitForBackend } from '../environment/wait-for-backend.ts';
import { installRuntime, temporalLog } from '../environment/worker-logs.ts';
import { listening, metricsListening } from '../listening.ts';
import { type AgentsFile, loadAgents } from '../load-agents.ts';
import { serveHealth } from './health-server.ts';

export interface WorkerCommandOptions extends LogOptions {
  taskQueue?: string;
  /** Milliseconds. */
  shutdownGrace: number;
  /** Milliseconds. */
  wait: number;
  /** Port. */
  health?: number;
  /** Port. */
  metrics?: number;
  transcriptUrl?: string;
  mockModel?: boolean;
  folder: string;
}

/** How long a worker that is to end at once has to tell its server so, milliseconds. */
const LAST_MOMENTS = 2_000;

/** `holdfast worker`: polls until SIGINT or SIGTERM. Returns the exit code. */
export async function workerCommand(file: string, options: WorkerCommandOptions): Promise<number> {
  const logger = operatorLog(options);
  try {
    return await runWorker(file, options, logger);
  } catch (error) {
    // Readers of JSON find the reason there, too.
    if (!isJson(options)) throw error;
    logger.error('worker ended', { reason: describeError(error) });
    return exitCodeFor(error);
  }
}

async function runWorker(
  file: string,
  options: WorkerCommandOptions,
  logger: HoldfastLogger,
): Promise<number> {
  const { env } = process;
  const loaded = await loadAgents(file);
  // A model that nobody knows is told before anything is started.
  resolveModels(loaded.agents);
  const signals = stopSignals();
  let environment: AgentsEnvironment | undefined;
  const isReady = async () =>
    environment !== undefined && Object.values(await environment.ready()).every((answers) => answers);
  const health =
    options.health === undefined
      ? undefined
      : await listening('--health', serveHealth(options.health, isReady));
  const gemini = await modelOf(loaded, options, logger);
  metricsListening(options.metrics, () =>
    installRuntime(temporalLog(logger), {
      handlesSignals: false,
      metrics:
        options.metrics === undefined
          ? otlpMetrics(env)
          : {
              prometheus: {
                bindAddress: `0.0.0.0:${options.metrics}`,
                histogramBucketOverrides: histogramBuckets,
              },
            },
    }),
  );
  try {
    logger.info('worker starting', {
      holdfast: ownVersion(),
      node: process.versions.node,
      file,
      store: storeUrl(env) === undefined ? 'embedded' : 'postgres',
    });
    const note = (line: string) => logger.info(line);
    const opening = openAgentsEnvironment({
      folder: options.folder,
      ownership: needsFolder(env) ? await ownAlone(options.folder, note) : undefined,
      file,
      loaded,
      rootAgent: loaded.rootAgent?.name,
      env,
      logger,
      grace: options.shutdownGrace,
      transcriptUrl: options.transcriptUrl,
      taskQueue: options.taskQueue,
      tracing: await otlpTracing(env, { service: 'holdfast-worker', logger }),
      onProgress: note,
      open: (place) => waitForBackend(() => openBackend(place), { wait: options.wait, note }),
    });
    environment = await Promise.race([opening, signals.first.then(() => undefined)]);
    if (environment === undefined) return 0;
    const { worker, server, gateway } = environment;
    logger.info('worker polls', {
      address: server.address,
      namespace: server.namespace,
      taskQueue: environment.taskQueue,
      ...(gateway === undefined ? {} : { gateway: gateway.url }),
    });
    await Promise.race([worker.ended, signals.first]);
    worker.drain();
    const isOver = await Promise.race([worker.ended.then(() => true), signals.second.then(() => false)]);
    if (!isOver) {
      logger.warn('worker ends at once', { running: worker.running() });
      worker.leave();
      await Promise.race([worker.ended, setTimeout(LAST_MOMENTS, undefined, { ref: false })]);
      return 130;
    }
    return 0;
  } finally {
    signals.forget();
    await environment?.close();
    await health?.close();
    await gemini?.close();
  }
}

/** In production nobody answers in the model's place unless somebody has asked for it. */
async function modelOf(loaded: AgentsFile, { mockModel }: WorkerCommandOptions, logger: HoldfastLogger) {
  if (mockModel) {
    return await offerGemini(loaded.agents, loaded.geminiScript, process.env, (line) => logger.warn(line));
  }
  if (lacksGeminiKey(loaded.agents, process.env)) {
    logger.warn(
      'no variable has a key for Gemini: unless the agents file brings one, turns fail; set GEMINI_API_KEY, or let a local ' +
        'mock server answer with scripted words (--mock-model)',
    );
  }
  return undefined;
}
