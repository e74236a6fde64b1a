import { isDeepStrictEqual } from 'node:util';
import { toolsWithin } from '../agents/agents-of-tree.ts';
import type { App } from '../app/app.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import { setVariables, variable } from '../environment.ts';
import { getLogger } from '../logger.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import { StoreUnavailable } from '../store/store-errors.ts';
import type { ToolUnion } from '../tools/base-toolset.ts';
import type { EmbeddedParts, Environment, JobGateway } from './embedded-parts.ts';
import type { Served } from './session-access.ts';

/** Workers that nobody uses just now: of apps that were run before. */
const MOST_IDLE_WORKERS = 4;

interface AppWorker {
  api: HoldfastApi;
  /** Aborted where it has failed, with the reason. */
  lost: AbortSignal;
  tools: ReadonlySet<ToolUnion>;
  close(): Promise<void>;
}

interface HeldWorker {
  starting: Promise<AppWorker>;
  users: number;
}

/** The task queues of what is served, the same over all starts. */
export interface TaskQueues {
  of: Map<Served, string>;
  /** Those with turns that wait for people. */
  waiting: Set<string>;
  /** So many were made; names are not used again. */
  made: number;
}

export interface EmbeddedServicesOptions {
  folder: string;
  taskQueues: TaskQueues;
  note: (line: string) => void;
  onProgress: (line: string) => void;
}

/** Server, store and workers while they are up. */
export class EmbeddedServices {
  readonly #parts: EmbeddedParts;
  readonly #options: EmbeddedServicesOptions;
  readonly #environment: Environment;
  /** Of this start: those who do jobs find another one after the next. */
  #gateway: JobGateway | undefined;
  /** By task queue, in the order of their last use. */
  readonly #workers = new Map<string, HeldWorker>();
  /** Sessions, without a worker. */
  readonly api: HoldfastApi;

  private constructor(parts: EmbeddedParts, options: EmbeddedServicesOptions, environment: Environment) {
    this.#parts = parts;
    this.#options = options;
    this.#environment = environment;
    this.api = environment.client();
  }

  static async open(parts: EmbeddedParts, options: EmbeddedServicesOptions): Promise<EmbeddedServices> {
    const { folder, onProgress } = options;
    // A server that the environment names is others', and would keep what is to end with this process.
    const env = parts.withoutServer(setVariables());
    const services = new EmbeddedServices(
      parts,
      options,
      await parts.openEnvironment({ folder, env, onProgress }),
    );
    try {
      services.#gateway = await parts.openJobGateway(() => services.#gatewayOptions());
      return services;
    } catch (error) {
      // Why it can't start says more than what can't be closed therefore.
      await services.close().catch(() => undefined);
      throw error;
    }
  }

  /** A worker that answers turns, until it is released or everything is closed. */
  async holdWorker(
    served: Served,
  ): Promise<Pick<AppWorker, 'api' | 'lost'> & { release: () => void; keepQueue: () => void }> {
    const queue = this.#queueOf(served);
    const held = this.#workers.get(queue) ?? this.#newWorker(served, queue);
    held.users += 1;
    this.#workers.delete(queue);
    this.#workers.set(queue, held);
    const { api, lost } = await held.starting;
    await this.#closeIdle();
    const release = () => {
      held.users -= 1;
    };
    return { api, lost, release, keepQueue: () => void this.#options.taskQueues.waiting.add(queue) };
  }

  /** Waiting callers are told why it could not be started; the next caller gets another. */
  #newWorker(served: Served, queue: string): HeldWorker {
    const held: HeldWorker = { starting: this.#startWorker(served, queue), users: 0 };
    const giveUp = () => {
      if (this.#workers.get(queue) === held) this.#workers.delete(queue);
    };
    held.starting.then(({ lost }) => lost.addEventListener('abort', giveUp, { once: true }), giveUp);
    return held;
  }

  /** Closes tools and toolsets, as ADK does after each run: they are asked for their tools again with the next one. */
  async rest(): Promise<void> {
    const idle = [...this.#workers.values()].filter(({ users }) => users === 0);
    const workers = await Promise.all(idle.map(({ starting }) => starting.catch(() => undefined)));
    const tools = new Set(workers.flatMap((worker) => [...(worker?.tools ?? [])]));
    const closed = await Promise.allSettled([...tools].map(async (tool) => await tool.close()));
    for (const each of closed) {
      if (each.status === 'rejected')
        getLogger().warn(`a tool or toolset is not closed: ${thrownMessage(each.reason)}`);
    }
  }

  async close(): Promise<void> {
    const workers = await Promise.allSettled([...this.#workers.values()].map(({ starting }) => starting));
    this.#workers.clear();
    await Promise.all(
      workers.map((settled) => (settled.status === 'fulfilled' ? settled.value.close() : undefined)),
    );
    try {
      await this.#gateway?.close();
    } finally {
      await this.#environment.close();
    }
  }

  /** Programs that make a runner for each request run the same agent with each. */
  #queueOf(served: Served): string {
    const { taskQueues } = this.#options;
    for (const [known, queue] of taskQueues.of) if (isSame(served, known)) return queue;
    taskQueues.made += 1;
    const queue = `holdfast-${taskQueues.made}`;
    taskQueues.of.set(served, queue);
    return queue;
  }

  async #closeIdle(): Promise<void> {
    const idle = [...this.#workers].filter(([, { users }]) => users === 0);
    for (const [queue, { starting }] of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_WORKERS))) {
      this.#workers.delete(queue);
      const { of, waiting } = this.#options.taskQueues;
      for (const [served, name] of of) if (name === queue && !waiting.has(queue)) of.delete(served);
      await (await starting).close();
    }
  }

  async #startWorker({ agent, app }: Served, taskQueue: string): Promise<AppWorker> {
    const { startWorker, offerGemini, warningLogger, QUIET_RUNTIME } = this.#parts;
    await offerGemini([agent], undefined, process.env, this.#options.note, { ref: false });
    const worker = await startWorker(this.#environment, {
      ...(app === undefined ? { agents: [agent] } : { apps: [app] }),
      taskQueue,
      runtime: QUIET_RUNTIME,
      publicUrl: variable('HOLDFAST_PUBLIC_URL')?.trim() ?? (() => this.#gateway?.url),
      // A turn that is left is answered as soon as it is up again.
      shutdownGraceTime: 0,
      logger: warningLogger((line) => getLogger().warn(line)),
    });
    const lost = new AbortController();
    const ended = worker.ended.catch((error: unknown) => lost.abort(error));
    return {
      api: this.#environment.client(taskQueue),
      lost: lost.signal,
      tools: toolsWithin([agent]),
      async close() {
        worker.drain();
        await ended;
        lost.abort(new StoreUnavailable('the sessions were closed while a turn ran', { closed: true }));
      },
    };
  }

  #gatewayOptions(): ReturnType<Parameters<EmbeddedParts['openJobGateway']>[0]> {
    const { aboutEnvironment, warningLogger } = this.#parts;
    return {
      client: this.api,
      about: () => aboutEnvironment(this.#environment),
      ready: async () => ({}),
      logger: warningLogger((line) => getLogger().warn(line)),
    };
  }
}

function isSame(one: Served, other: Served): boolean {
  return one.agent === other.agent && isSameApp(one.app, other.app);
}

function isSameApp(one: App | undefined, other: App | undefined): boolean {
  if (one === other) return true;
  return (
    one !== undefined &&
    other !== undefined &&
    one.name === other.name &&
    one.plugins.length === other.plugins.length &&
    one.plugins.every((plugin, index) => plugin === other.plugins[index]) &&
    // Two objects with private fields only are deeply equal.
    one.durable.artifactService === other.durable.artifactService &&
    one.durable.memory?.service === other.durable.memory?.service &&
    isDeepStrictEqual(one.durable, other.durable)
  );
}
