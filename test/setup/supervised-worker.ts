import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';

/** What a worker process tells the harness. */
export type FromWorker = { type: 'polls' } | { type: 'notice'; notice: StoreNotice };

/** Before another start where a process could not start, as while the server is down. */
const PAUSE = 200;

/** A worker process with a supervisor: another one follows the one that died. */
export class SupervisedWorker<Options> {
  readonly #program: string;
  #options: Options;
  readonly #env: Record<string, string>;
  readonly #hear: (notice: StoreNotice) => void;
  #process: ChildProcess | undefined;
  #supervising: Promise<void> = Promise.resolve();
  #wanted = false;
  /** How many have polled, and died. */
  deaths = 0;

  /**
   * @param program gets the options as JSON in its first argument.
   * @param hear is told what the processes have written to the store.
   */
  constructor(
    program: string,
    options: Options,
    env: Record<string, string>,
    hear: (notice: StoreNotice) => void,
  ) {
    this.#program = program;
    this.#options = options;
    this.#env = env;
    this.#hear = hear;
  }

  /** What the processes from now on are started with. */
  set options(options: Options) {
    this.#options = options;
  }

  /** Resolves when the first one polls. */
  async start(): Promise<void> {
    this.#wanted = true;
    const polls = Promise.withResolvers<void>();
    this.#supervising = this.#supervise(polls.resolve);
    await polls.promise;
  }

  /** Another one follows, unless the worker was stopped. */
  async kill(): Promise<void> {
    const worker = this.#process;
    if (worker === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
    const exited = once(worker, 'exit');
    worker.kill('SIGKILL');
    await exited;
  }

  /** As {@link kill}, and none follows. */
  async stop(): Promise<void> {
    this.#wanted = false;
    await this.kill();
    await this.#supervising;
  }

  async #supervise(polls: () => void): Promise<void> {
    while (this.#wanted) {
      const polled = await this.#run(polls);
      if (polled) this.deaths += 1;
      else await setTimeout(PAUSE);
    }
    polls();
  }

  /** Resolves when the process has ended; whether it has polled. */
  async #run(polls: () => void): Promise<boolean> {
    const worker = fork(this.#program, [JSON.stringify(this.#options)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process = worker;
    let polled = false;
    worker.on('message', (message: FromWorker) => {
      if (message.type === 'notice') return this.#hear(message.notice);
      polled = true;
      polls();
    });
    await once(worker, 'exit');
    return polled;
  }
}
