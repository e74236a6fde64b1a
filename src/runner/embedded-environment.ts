import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { variable } from '../environment.ts';
import { getLogger } from '../logger.ts';
import { messageOf } from '../protocol/message-of.ts';
import { StoreUnavailable } from '../store/store-errors.ts';
import { type EmbeddedParts, loadEmbeddedParts } from './embedded-parts.ts';
import { EmbeddedServices, type TaskQueues } from './embedded-services.ts';
import type { OpenAccess, Served, SessionAccess } from './session-access.ts';

/** After the last use, milliseconds. */
const IDLE_TIME = 500;
/** Between looks at a program that goes on, milliseconds. */
const LOOK_INTERVAL = 250;
/** A start of which everything is at hand takes less, milliseconds. */
const QUIET_FOR = 5_000;
/** Servers that stay up for environments that are suspended: one takes a second to start, and some tens of megabytes. */
const MOST_SPARE_SERVERS = 2;

/** State that outlasts a suspension. */
interface Place {
  folder: string;
  taskQueues: TaskQueues;
  remove: () => void;
}

/** Of this process, those suspended last. */
const withSpareServer: EmbeddedEnvironment[] = [];

/**
 * A Temporal server, a store and workers for one session service: started by the first use, suspended when nothing has used
 * it for a while, started again by the next use. Native code that polls would otherwise keep the process up for ever.
 */
export class EmbeddedEnvironment implements SessionAccess {
  #place: Place | undefined;
  #services: Promise<EmbeddedServices> | undefined;
  /** Of what ran before. */
  #ending: Promise<void> = Promise.resolve();
  #holders = 0;
  #idle: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  async hold(served?: Served): Promise<OpenAccess & { release: () => void }> {
    if (this.#closing !== undefined)
      throw new StoreUnavailable('these sessions are closed: make another InMemorySessionService', {
        closed: true,
      });
    this.#holders += 1;
    clearTimeout(this.#idle);
    const letGo: (() => void)[] = [() => this.#leave()];
    const release = () => {
      for (const each of letGo.splice(0)) each();
    };
    try {
      const services = await this.#up();
      if (served === undefined) return { api: services.api, release };
      const worker = await services.holdWorker(served);
      letGo.push(worker.release);
      const { api, lost, keepQueue } = worker;
      return { api, lost, keepQueue, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #leave(): void {
    this.#holders -= 1;
    if (this.#holders === 0 && this.#closing === undefined) this.#suspendIn(IDLE_TIME);
  }

  #suspendIn(time: number, isAtRest = false): void {
    // Where nothing was started, nothing else keeps the process.
    this.#idle = setTimeout(() => void this.#suspendSoon(isAtRest), time).unref();
  }

  async #suspendSoon(isAtRest: boolean): Promise<void> {
    // Handles of toolsets would look like the program's own.
    if (!isAtRest) await this.#services?.then((services) => services.rest(), ignore);
    if (this.#holders > 0 || this.#closing !== undefined) return;
    if (programGoesOn()) this.#suspendIn(LOOK_INTERVAL, true);
    else this.#suspend();
  }

  #up(): Promise<EmbeddedServices> {
    if (this.#services === undefined) {
      spare(this, false);
      const services = this.#ending.then(() => this.#start());
      this.#services = services;
      services.catch(() => {
        if (this.#services === services) this.#services = undefined;
      });
    }
    return this.#services;
  }

  async #start(): Promise<EmbeddedServices> {
    const parts = await loadEmbeddedParts();
    this.#place ??= newPlace(parts);
    const progress = parts.slowProgress(note, QUIET_FOR);
    try {
      return await EmbeddedServices.open(parts, { ...this.#place, note, onProgress: progress.tell });
    } finally {
      progress.end();
    }
  }

  #suspend(): void {
    const services = this.#services;
    if (services === undefined) return;
    this.#services = undefined;
    this.#ending = ended(services);
    spare(this, true);
  }

  /** Ends the server of a suspended environment; the next start brings another one up with the same data. */
  endServer(): void {
    this.#ending = this.#ending.then(async () => {
      const { stopEmbedded } = await loadEmbeddedParts();
      if (this.#place !== undefined) await stopEmbedded(this.#place.folder);
    }, tell);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#idle);
    spare(this, false);
    if (this.#services !== undefined) this.#ending = ended(this.#services);
    await this.#ending;
    if (this.#place === undefined) return;
    const { stopEmbedded } = await loadEmbeddedParts();
    await stopEmbedded(this.#place.folder);
    this.#place.remove();
  }
}

/** Each user of the environment gets the error itself. */
function ignore(): void {}

async function ended(services: Promise<EmbeddedServices>): Promise<void> {
  try {
    await (await services).close();
  } catch (error) {
    tell(error);
  }
}

function tell(error: unknown): void {
  getLogger().error(messageOf(error));
}

function newPlace({ acquireFolder, endWithProcess }: EmbeddedParts): Place {
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-runner-')));
  const callOff = endWithProcess(folder, { remove: true });
  return {
    folder,
    taskQueues: { of: new Map(), waiting: new Set(), made: 0 },
    remove() {
      release();
      rmSync(folder, { recursive: true, force: true });
      callOff();
    },
  };
}

function spare(environment: EmbeddedEnvironment, isSuspended: boolean): void {
  const index = withSpareServer.indexOf(environment);
  if (index >= 0) withSpareServer.splice(index, 1);
  if (isSuspended) withSpareServer.push(environment);
  if (withSpareServer.length > MOST_SPARE_SERVERS) withSpareServer.shift()?.endServer();
}

/** Tells the person at the terminal, unless HOLDFAST_QUIET says not to. */
function note(line: string): void {
  if (variable('HOLDFAST_QUIET') === undefined) process.stderr.write(`holdfast: ${line}\n`);
}

/** Names under which Node counts an environment's thread, its connections and standard streams among what keeps a process up. */
const OURS: readonly string[] = ['MessagePort', 'PipeWrap', 'TTYWrap'];

/**
 * Whether something of the program itself keeps the process up: a timer, a server, a request, a question on standard input.
 * Only where there is nothing of that kind does the program depend on what an environment holds open.
 */
function programGoesOn(): boolean {
  return process.getActiveResourcesInfo().some((kind) => !OURS.includes(kind)) || isRead(process.stdin);
}

function isRead(stdin: NodeJS.ReadStream): boolean {
  if (stdin.readableEnded || stdin.destroyed) return false;
  return stdin.readableFlowing === true || stdin.listenerCount('readable') > 0;
}
