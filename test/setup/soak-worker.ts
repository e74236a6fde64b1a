import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Outages, VictimKind } from './soak-outages.ts';
import type { SoakWorkerOptions } from './soak-worker-process.ts';

const PROGRAM = fileURLToPath(new URL('soak-worker-process.ts', import.meta.url));

/** What a worker can't start without. */
const NEEDED: readonly VictimKind[] = ['temporal', 'store'];

export interface SoakWorkerSetup {
  options: SoakWorkerOptions;
  env: Record<string, string>;
  /** Gets what the processes write to standard error. */
  log: string;
  outages: Outages;
  /** Told of a process that ended by itself. */
  onExit: (how: string) => void;
}

/** A worker process with a supervisor: another one follows where it could not start. */
export class SoakWorker {
  readonly #setup: SoakWorkerSetup;
  #process: ChildProcess | undefined;
  #wanted = false;
  #polling: Promise<void> = Promise.resolve();
  /** Processes that ended before they polled, because what they need was down. */
  failedStarts = 0;
  readonly #endWithParent = () => this.#process?.kill('SIGKILL');

  constructor(setup: SoakWorkerSetup) {
    this.#setup = setup;
    process.once('exit', this.#endWithParent);
  }

  /** Returns when it polls, or when it was killed before. */
  start(): Promise<void> {
    this.#wanted = true;
    this.#polling = this.#startUntilItPolls();
    return this.#polling;
  }

  async kill(): Promise<void> {
    this.#wanted = false;
    const worker = this.#process;
    this.#process = undefined;
    if (worker !== undefined && worker.exitCode === null && worker.signalCode === null) {
      const exited = once(worker, 'exit');
      worker.kill('SIGKILL');
      await exited;
    }
    await this.#polling;
  }

  /** Bytes of the heap that a garbage collection leaves. */
  async heapUsed(): Promise<number> {
    this.#process?.send('heap');
    const [bytes] = this.#process === undefined ? [0] : await once(this.#process, 'message');
    return Number(bytes);
  }

  async close(): Promise<void> {
    await this.kill();
    process.off('exit', this.#endWithParent);
  }

  async #startUntilItPolls(): Promise<void> {
    while (this.#wanted) {
      const began = Date.now();
      const end = await this.#launch();
      if (end === 'polling' || !this.#wanted) return;
      const { outages, onExit } = this.#setup;
      if (outages.isDown(NEEDED, began, Date.now())) this.failedStarts += 1;
      else onExit(`it could not start, and nothing was down: ${end}`);
    }
  }

  /** Resolves when the process polls, or with how it ended before. */
  #launch(): Promise<string> {
    const { options, env, log, onExit } = this.#setup;
    const output = openSync(log, 'a');
    const worker = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', PROGRAM, JSON.stringify(options)],
      { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', output, 'ipc'] },
    );
    closeSync(output);
    this.#process = worker;
    const { stdout } = worker;
    if (stdout === null) throw new Error('a worker process has a pipe');
    let polls = false;
    return new Promise((resolve) => {
      createInterface({ input: stdout }).on('line', (line) => {
        if (line !== 'polling') return;
        polls = true;
        resolve('polling');
      });
      worker.once('exit', (code, signal) => {
        const how = `exit code ${code}, signal ${signal}`;
        if (polls && this.#process === worker) {
          onExit(how);
          this.#polling = this.#startUntilItPolls();
        }
        resolve(how);
      });
    });
  }
}
