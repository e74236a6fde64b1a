import { setTimeout as delay } from 'node:timers/promises';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { LoadedAgents, WorkerPlace } from './child-messages.ts';
import type { WorkerChild } from './worker-child.ts';

/** Milliseconds that a process which has loaded its agents has until it polls. */
const START_TIMEOUT = 60_000;
/** Milliseconds that processes have to end before they are killed. */
const QUIT_TIMEOUT = 5_000;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
/** Milliseconds after which a worker that ends by itself counts as the first one that did. */
const LONG_LIFE = 60_000;

export interface FleetListener {
  /** A process begins to load the agents file. */
  starting(): void;
  /** A worker polls with what was loaded; one that was there before drains. */
  polls(loaded: LoadedAgents, pid: number | undefined): void;
  /** The agents file could not be served; `keeps` says whether the worker before goes on. */
  refused(reason: string, keeps: boolean): void;
  /** A replaced worker has done its last task. */
  drained(pid: number | undefined, ms: number): void;
  /** The worker has ended by itself; another one starts after a pause, in milliseconds. */
  died(reason: string, pause: number): void;
}

interface Current {
  child: WorkerChild;
  since: number;
}

/**
 * One worker process that serves the newest version of an agents file, and those before it that still run tools. A new
 * process replaces the old one when it polls; at most one is starting, and the newest wins.
 */
export class WorkerFleet {
  readonly #spawn: () => WorkerChild;
  readonly #place: Promise<WorkerPlace>;
  readonly #listener: FleetListener;
  readonly #draining = new Set<WorkerChild>();
  #current: Current | undefined;
  #starting: { child: WorkerChild; loading: boolean } | undefined;
  #again = false;
  #closed = false;
  #pause = FIRST_PAUSE;
  #restart: NodeJS.Timeout | undefined;

  /** @param place is known when server and store are up; agents files are loaded meanwhile. */
  constructor(spawn: () => WorkerChild, place: Promise<WorkerPlace>, listener: FleetListener) {
    this.#spawn = spawn;
    this.#place = place;
    this.#listener = listener;
    // The maker of the place says why there is none.
    place.catch(() => {
      this.#closed = true;
    });
  }

  /** Whether there is a worker that takes tasks. */
  get polls(): boolean {
    return this.#current !== undefined;
  }

  /** Starts a worker for the agents file as it is now. */
  reload(): void {
    if (this.#closed) return;
    clearTimeout(this.#restart);
    if (this.#starting === undefined) {
      void this.#start();
      return;
    }
    this.#again = true;
    // One that has begun to poll may have tasks; one that still loads, perhaps for ever, has none.
    if (this.#starting.loading) this.#starting.child.kill();
  }

  /** Ends all processes; what they run is tried again later. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restart);
    const children = [this.#starting?.child, this.#current?.child, ...this.#draining].filter(
      (child) => child !== undefined,
    );
    for (const child of children) child.quit();
    const ended = Promise.all(children.map((child) => child.ended));
    await Promise.race([ended, delay(QUIT_TIMEOUT, undefined, { ref: false })]);
    for (const child of children) child.kill();
    await ended;
  }

  async #start(): Promise<void> {
    this.#again = false;
    this.#listener.starting();
    let child: WorkerChild;
    try {
      child = this.#spawn();
    } catch (error) {
      return this.#listener.refused(thrownMessage(error), this.#current !== undefined);
    }
    const starting = { child, loading: true };
    this.#starting = starting;
    try {
      const loaded = await child.loaded;
      starting.loading = false;
      child.open(await this.#place);
      await inTime(child.polls);
      this.#replace(child, loaded);
    } catch (error) {
      child.kill();
      await child.ended;
      if (!this.#closed && !this.#again) {
        this.#listener.refused(thrownMessage(error), this.#current !== undefined);
      }
    }
    this.#starting = undefined;
    if (this.#again && !this.#closed) void this.#start();
  }

  #replace(child: WorkerChild, loaded: LoadedAgents): void {
    const before = this.#current?.child;
    this.#current = { child, since: Date.now() };
    void child.ended.then((reason) => this.#ended(child, reason));
    if (this.#closed) return;
    this.#listener.polls(loaded, child.pid);
    if (before === undefined) return;
    const since = Date.now();
    this.#draining.add(before);
    before.drain();
    void before.ended.then(() => {
      this.#draining.delete(before);
      this.#listener.drained(before.pid, Date.now() - since);
    });
  }

  #ended(child: WorkerChild, reason: string | undefined): void {
    const current = this.#current;
    if (current?.child !== child || this.#closed) return;
    this.#current = undefined;
    if (Date.now() - current.since > LONG_LIFE) this.#pause = FIRST_PAUSE;
    const pause = this.#pause;
    this.#pause = Math.min(pause * 2, LONGEST_PAUSE);
    this.#listener.died(reason ?? 'the worker process ended by itself', pause);
    this.#restart = setTimeout(() => this.reload(), pause);
  }
}

async function inTime(polls: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`the worker does not poll after ${START_TIMEOUT / 1000} s`)),
    START_TIMEOUT,
  );
  try {
    await Promise.race([polls, promise]);
  } finally {
    clearTimeout(timer);
  }
}
