import type { WorkerPlace as EnvironmentOfWorker } from '../../../worker/environment/running-worker.ts';
import type { StoreNotice } from '../../store/live/live-feed.ts';

/** Definitions of an agents file. */
export interface LoadedAgents {
  app: string;
  /** The file exports an App, or what stands for one. */
  isApp?: true;
  agents: { name: string /** Of one that asks a model itself. */; model?: string }[];
  /** Names of sub-agents, which can be asked by name, too. */
  below?: string[];
  /** Answers where neither turn nor session names an agent. */
  rootAgent: string;
  /** A local mock server takes Gemini's place. */
  mockModel: boolean;
  /** It configures the gateway. */
  gateway: boolean;
}

/** A file that a worker process has loaded, or looked for in vain: then its digest is empty. */
export interface LoadedFile {
  path: string;
  digest: string;
}

/** Where a worker process finds its turns. */
export interface WorkerPlace {
  server: EnvironmentOfWorker['server'];
  store: { socket: string } | { url: string };
  taskQueue: string;
  /** The parent's, on this machine. */
  gatewayUrl: string;
  /** `.holdfast`: has `worker.log`, and the keys of an embedded store. */
  folder: string;
}

/** Messages to a worker process. `quit` is a drain without grace. */
export type ToWorker = { type: 'open'; place: WorkerPlace } | { type: 'drain' } | { type: 'quit' };

/** Messages of a worker process. After `failed` it ends. */
export type FromWorker =
  | { type: 'file'; file: LoadedFile }
  | { type: 'loaded'; loaded: LoadedAgents }
  | { type: 'polls' }
  | { type: 'failed'; message: string }
  | { type: 'notice'; notice: StoreNotice };
