import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { databaseIsComplete, prepareDatabase } from '../../worker/temporal/database-file.ts';
import type { TemporalExecutable } from '../../worker/temporal/executable.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { answers } from '../../worker/temporal/probe.ts';
import { serverEnvironment } from '../../worker/temporal/server-environment.ts';
import { type ServerPorts, startArguments } from '../../worker/temporal/start-flags.ts';

const LONGEST_START = 60_000;

/** Below those that the system gives to whoever connects: a server that was killed gets its own again. */
const PORTS = [15_000, 30_000] as const;

const PAUSE = 200;

/** Dynamic configuration: turns continue as new every few steps. */
export const SHORT_RUNS: readonly string[] = ['limit.historyCount.suggestContinueAsNew=20'];

export interface TemporalServerOptions {
  /** Dynamic configuration beside that of Holdfast's servers. */
  config?: readonly string[];
  /** Beside `default`. */
  namespaces?: readonly string[];
}

/** A development server that can be killed and goes on at its address, with its database. */
export class TemporalServer {
  readonly address: string;
  readonly uiUrl: string;
  readonly #folder: string;
  readonly #executable: TemporalExecutable;
  readonly #ports: ServerPorts;
  readonly #flags: readonly string[];
  #process: ChildProcess | undefined;
  readonly #endWithParent = () => this.#process?.kill('SIGKILL');

  private constructor(
    folder: string,
    executable: TemporalExecutable,
    ports: ServerPorts,
    { config = [], namespaces = [] }: TemporalServerOptions,
  ) {
    this.#folder = folder;
    this.#executable = executable;
    this.#ports = ports;
    this.#flags = [
      ...config.flatMap((pair) => ['--dynamic-config-value', pair]),
      ...namespaces.flatMap((name) => ['--namespace', name]),
    ];
    this.address = `127.0.0.1:${ports.grpc}`;
    this.uiUrl = `http://127.0.0.1:${ports.ui}`;
  }

  /** @param folder of its database and log. */
  static async start(folder: string, options: TemporalServerOptions = {}): Promise<TemporalServer> {
    const executable = await obtainExecutable({
      configured: process.env.HOLDFAST_TEMPORAL_CLI,
      cacheFolder: defaultCacheFolder(process.env),
      env: process.env,
      onProgress: (line) => process.stderr.write(`${line}\n`),
    });
    const ports = { grpc: await ownPort(), ui: await ownPort() };
    const server = new TemporalServer(folder, executable, ports, options);
    prepareDatabase(folder);
    process.once('exit', server.#endWithParent);
    await server.start();
    databaseIsComplete(folder);
    return server;
  }

  async start(): Promise<void> {
    const deadline = Date.now() + LONGEST_START;
    while (!(await this.#launch(deadline - Date.now()))) {
      if (Date.now() > deadline) {
        throw new Error(`the Temporal server does not start: see ${join(this.#folder, 'temporal.log')}`);
      }
      await setTimeout(PAUSE);
    }
  }

  async #launch(timeout: number): Promise<boolean> {
    const log = openSync(join(this.#folder, 'temporal.log'), 'a');
    const server = spawn(
      this.#executable.path,
      [...startArguments(this.#folder, this.#ports, this.#executable.flags), ...this.#flags],
      { cwd: this.#folder, env: serverEnvironment(process.env), stdio: ['ignore', log, log] },
    );
    closeSync(log);
    this.#process = server;
    const ended = new AbortController();
    server.once('exit', () => ended.abort());
    return await answers(this.address, timeout, ended.signal);
  }

  async kill(): Promise<void> {
    const server = this.#process;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  async close(): Promise<void> {
    await this.kill();
    process.off('exit', this.#endWithParent);
  }
}

/** A free port that no outgoing connection takes while its server is down. */
async function ownPort(): Promise<number> {
  const [lowest, highest] = PORTS;
  for (;;) {
    const port = randomInt(lowest, highest);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((closed) => probe.close(closed));
    return port;
  }
}
