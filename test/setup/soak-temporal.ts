import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { databaseIsComplete, prepareDatabase } from '../../worker/temporal/database-file.ts';
import type { TemporalExecutable } from '../../worker/temporal/executable.ts';
import { choosePorts } from '../../worker/temporal/free-ports.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { answers } from '../../worker/temporal/probe.ts';
import { serverEnvironment } from '../../worker/temporal/server-environment.ts';
import { type ServerPorts, startArguments } from '../../worker/temporal/start-flags.ts';

const LONGEST_START = 60_000;

/** Turns continue as new every few steps. */
const CONFIG = ['limit.historyCount.suggestContinueAsNew=20'];

/** A development server that can be killed and goes on at its address, with its database. */
export class SoakTemporal {
  readonly address: string;
  readonly #folder: string;
  readonly #executable: TemporalExecutable;
  readonly #ports: ServerPorts;
  #process: ChildProcess | undefined;
  readonly #endWithParent = () => this.#process?.kill('SIGKILL');

  private constructor(folder: string, executable: TemporalExecutable, ports: ServerPorts) {
    this.#folder = folder;
    this.#executable = executable;
    this.#ports = ports;
    this.address = `127.0.0.1:${ports.grpc}`;
  }

  static async start(folder: string): Promise<SoakTemporal> {
    const executable = await obtainExecutable({
      configured: process.env.HOLDFAST_TEMPORAL_CLI,
      cacheFolder: defaultCacheFolder(process.env),
      env: process.env,
      onProgress: (line) => process.stderr.write(`${line}\n`),
    });
    const server = new SoakTemporal(folder, executable, await choosePorts(undefined));
    prepareDatabase(folder);
    process.once('exit', server.#endWithParent);
    await server.start();
    databaseIsComplete(folder);
    return server;
  }

  async start(): Promise<void> {
    const log = openSync(join(this.#folder, 'temporal.log'), 'a');
    const flags = CONFIG.flatMap((pair) => ['--dynamic-config-value', pair]);
    const server = spawn(
      this.#executable.path,
      [...startArguments(this.#folder, this.#ports, this.#executable.flags), ...flags],
      { cwd: this.#folder, env: serverEnvironment(process.env), stdio: ['ignore', log, log] },
    );
    closeSync(log);
    this.#process = server;
    const ended = new AbortController();
    server.once('exit', () => ended.abort());
    if (!(await answers(this.address, LONGEST_START, ended.signal))) {
      throw new Error(`the Temporal server has not started: see ${join(this.#folder, 'temporal.log')}`);
    }
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
