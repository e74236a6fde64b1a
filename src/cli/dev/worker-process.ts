import { startWorker } from '../../../worker/environment/running-worker.ts';
import { agentsOfTree, resolveModels } from '../../agents/agents-of-tree.ts';
import { isLlmAgent } from '../../agents/llm-agent.ts';
import { credentialKeysFor } from '../../credentials/folder-credential-keys.ts';
import { openStore } from '../../store/open-store.ts';
import { offerGemini } from '../../testing/offer-gemini.ts';
import { describeError } from '../cli-error.ts';
import { loadDataConverter } from '../environment/data-converter.ts';
import { publicUrlFor } from '../environment/places.ts';
import { folderLogger, installRuntime } from '../environment/worker-logs.ts';
import { loadAgents } from '../load-agents.ts';
import type { FromWorker, LoadedAgents, ToWorker, WorkerPlace } from './child-messages.ts';
import { trackFiles } from './track-files.ts';

/** Milliseconds. A worker that was replaced lets its tools run on for as long. */
const DRAIN_GRACE = 60 * 60_000;

/** Milliseconds that a process without its parent has to end by itself. */
const LAST_MOMENTS = 3_000;

/**
 * The process that `holdfast dev` starts for each version of an agents file: loads it, then polls until it is told to drain.
 * Its parent's death ends it.
 */
async function workerProcess(file: string): Promise<number> {
  const orders = new Orders();
  // Ctrl-C reaches the whole group of processes; what is to be done about it the parent says.
  process.on('SIGINT', () => undefined);
  trackFiles((loadedFile) => tell({ type: 'file', file: loadedFile }));
  const loaded = await loadAgents(file);
  resolveModels(loaded.agents);
  const gemini = await offerGemini(loaded.agents, loaded.geminiScript, process.env, () => undefined);
  const rootAgent = loaded.rootAgent?.name ?? loaded.agents[0]?.name ?? '';
  const names = new Set(loaded.agents.map(({ name }) => name));
  const below = loaded.agents.flatMap(agentsOfTree).filter(({ name }) => !names.has(name));
  tell({
    type: 'loaded',
    loaded: {
      app: loaded.app,
      ...(loaded.apps.length > 0 ? { isApp: true as const } : {}),
      // The one that answers first.
      agents: loaded.agents
        .toSorted((one, other) => Number(other.name === rootAgent) - Number(one.name === rootAgent))
        .map((agent) => ({
          name: agent.name,
          ...(isLlmAgent(agent) ? { model: agent.canonicalModel.model } : {}),
        })),
      ...(below.length === 0 ? {} : { below: [...new Set(below.map(({ name }) => name))] }),
      rootAgent,
      mockModel: gemini !== undefined,
      gateway: loaded.gateway !== undefined,
    } satisfies LoadedAgents,
  });
  const place = await orders.place;
  if (place === undefined) return 0;
  const logger = folderLogger(place.folder, (line) => void process.stderr.write(`${line}\n`));
  installRuntime(logger, { handlesSignals: false });
  const store = await openStore(place.store);
  // The chat hears of its events at once; with an embedded store there is no other way.
  store.live.onNotice((notice) => tell({ type: 'notice', notice }));
  const { server, taskQueue, gatewayUrl } = place;
  const isEmbedded = 'socket' in place.store;
  const credentialKeys = credentialKeysFor(process.env, isEmbedded ? place.folder : undefined);
  const worker = await startWorker(
    { server, store, credentialKeys, dataConverter: await loadDataConverter(process.env) },
    {
      agents: loaded.agents,
      apps: loaded.apps,
      taskQueue,
      rootAgent,
      logger,
      shutdownGraceTime: DRAIN_GRACE,
      publicUrl: publicUrlFor(process.env, loaded.gateway, () => gatewayUrl),
    },
  );
  tell({ type: 'polls' });
  orders.onEnd((order) => (order === 'quit' ? worker.leave() : worker.drain()));
  await worker.ended;
  await store.close();
  await gemini?.close();
  return 0;
}

/** Messages of the parent, before or after anybody listens. */
class Orders {
  readonly place: Promise<WorkerPlace | undefined>;
  #end: 'drain' | 'quit' | undefined;
  #listener: ((order: 'drain' | 'quit') => void) | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<WorkerPlace | undefined>();
    this.place = promise;
    const end = (order: 'drain' | 'quit') => {
      resolve(undefined);
      this.#end = order;
      this.#listener?.(order);
    };
    process.on('message', (message: ToWorker) => {
      if (message.type === 'open') resolve(message.place);
      else end(message.type);
    });
    process.once('disconnect', () => {
      end('quit');
      setTimeout(() => process.exit(1), LAST_MOMENTS).unref();
    });
  }

  onEnd(listener: (order: 'drain' | 'quit') => void): void {
    this.#listener = listener;
    if (this.#end !== undefined) listener(this.#end);
  }
}

let told = Promise.resolve();

function tell(message: FromWorker): void {
  if (!process.connected) return;
  // The messages must leave the process before it ends.
  told = new Promise((sent) => process.send?.(message, () => sent()));
}

const [, , file = ''] = process.argv;
const code = await workerProcess(file).catch((error: unknown) => {
  tell({ type: 'failed', message: describeError(error) });
  return 1;
});
await told;
process.exit(code);
