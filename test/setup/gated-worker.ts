import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { StoreNotice } from '../../src/store/store.ts';
import type { FromGatedWorker, GatedWorkerOptions } from './gated-worker-process.ts';

const PROGRAM = fileURLToPath(new URL('gated-worker-process.ts', import.meta.url));

/** Before another start where a process could not start, as while the server is down. */
const PAUSE = 200;

/** A worker process with a supervisor: another one follows the one that died. */
export class GatedWorker {
  readonly #options: GatedWorkerOptions;
  readonly #env: Record<string, string>;
  readonly #hear: (notice: StoreNotice) => void;
  #process: ChildProcess | undefined;
  #supervising: Promise<void> = Promise.resolve();
  #wanted = false;
  /** How many have polled, and died. */
  deaths = 0;

  /** @param hear is told what the processes have written to the store. */
  constructor(options: GatedWorkerOptions, env: Record<string, string>, hear: (notice: StoreNotice) => void) {
    this.#options = options;
    this.#env = env;
    this.#hear = hear;
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
    const worker = fork(PROGRAM, [JSON.stringify(this.#options)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process = worker;
    let polled = false;
    worker.on('message', (message: FromGatedWorker) => {
      if (message.type === 'notice') return this.#hear(message.notice);
      polled = true;
      polls();
    });
    await once(worker, 'exit');
    return polled;
  }
}
