import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { findServers } from '../worker/temporal/server-process.ts';
import { inspectThreads } from './inspected-threads.ts';
import type { Setting } from './setting.ts';

const THREADS = ['main', 'workflow', 'store', 'Core', 'GC/JIT'] as const;
export const PLACES = [...THREADS, 'other', 'server', 'PostgreSQL'] as const;
export type Place = (typeof PLACES)[number];

/** CPU milliseconds by place. */
export type Cpu = Record<Place, number>;

export interface CpuMeter {
  /** The setting has these. */
  places: readonly Place[];
  /** The cost of a work, with the time until all have settled. */
  during(work: () => Promise<void>): Promise<Cpu>;
}

/** Milliseconds. A turn's last tasks of server and worker end after its client has the answer. */
const SETTLING = 50;

const OWN_ID = "process.getBuiltinModule('node:fs').readlinkSync('/proc/thread-self')";

/**
 * CPU time by thread, as Linux counts it (`schedstat`). Each JavaScript thread names its own id, others have names of their own.
 *
 * Some columns are approximate:
 * - A thread that runs while it is read is up to one tick (1 to 4 ms) behind. The next reading has that time.
 * - `other` is what the process used beyond the other columns: libuv's threads, and threads that have ended, as the SDK's watchdogs.
 * - `GC/JIT` is V8's helper threads. Collections that stop a thread count for that thread.
 * - `workflow` has the threads of both workers. The worker that has no turn only waits.
 * - `main` also has the client that sends the message, and about 0.7 ms of reading a measurement.
 * - `server` and `PostgreSQL` are whole servers: nothing else may use them.
 */
export async function openCpuMeter({ folder, store }: Setting): Promise<CpuMeter> {
  const servers = (await findServers(realpathSync(folder))) ?? [];
  const postmaster = await postmasterOf(store);
  const named = new Map<number, Place>([[process.pid, 'main']]);
  await inspectThreads(async ([, ...workers]) => {
    for (const { url, ask } of workers) {
      const { result } = await ask<{ result: { value: string } }>('Runtime.evaluate', { expression: OWN_ID });
      const thread = Number(result.value.split('/').at(-1));
      named.set(thread, url.includes('pglite-thread') ? 'store' : 'workflow');
    }
  });
  const read = () => {
    // This call comes first: it brings the count of this thread, which runs, up to date.
    const { user, system } = process.cpuUsage();
    const threads = new Map<number, { place: Place; ms: number }>();
    const add = (pid: number, placeOf: (thread: number) => Place) => {
      for (const thread of namesIn(`/proc/${pid}/task`)) {
        const [nanoseconds] = textOf(`/proc/${pid}/task/${thread}/schedstat`).split(' ');
        if (nanoseconds) threads.set(thread, { place: placeOf(thread), ms: Number(nanoseconds) / 1e6 });
      }
    };
    add(process.pid, (thread) => named.get(thread) ?? placeByName(thread));
    for (const pid of servers) add(pid, () => 'server');
    const children = postmaster ? textOf(`/proc/${postmaster}/task/${postmaster}/children`) : '';
    for (const pid of children.trim().split(' ')) add(Number(pid), () => 'PostgreSQL');
    return { threads, process: (user + system) / 1e3 };
  };
  const absent: (Place | undefined)[] = [
    servers.length === 0 ? 'server' : undefined,
    postmaster === undefined ? 'PostgreSQL' : 'store',
  ];
  return {
    places: PLACES.filter((place) => !absent.includes(place)),
    async during(work) {
      const before = read();
      await work();
      await setTimeout(SETTLING);
      const after = read();
      const cpu = cpuOf(() => 0);
      for (const [thread, { place, ms }] of after.threads) {
        cpu[place] += ms - (before.threads.get(thread)?.ms ?? 0);
      }
      cpu.other = after.process - before.process - THREADS.reduce((sum, place) => sum + cpu[place], 0);
      return cpu;
    },
  };
}

export function cpuOf(ms: (place: Place) => number): Cpu {
  return Object.fromEntries(PLACES.map((place) => [place, ms(place)])) as Cpu;
}

export function sumOf(cpu: Cpu): number {
  return Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
}

function placeByName(thread: number): Place {
  const name = textOf(`/proc/self/task/${thread}/comm`);
  if (name.startsWith('V8Worker')) return 'GC/JIT';
  return name.startsWith('tokio') ? 'Core' : 'other';
}

/** The parent of this connection's process, if the server runs on this machine. */
async function postmasterOf({ db }: Setting['store']): Promise<number | undefined> {
  if (process.env.HOLDFAST_STORE === undefined) return undefined;
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  const [, parent] = /^\d+ \(postgres\) \S (\d+) /.exec(textOf(`/proc/${rows[0]?.pid}/stat`)) ?? [];
  return parent === undefined ? undefined : Number(parent);
}

/** Empty where the process has ended. */
function namesIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number);
  } catch {
    return [];
  }
}

/** Empty where the process or thread has ended since it was listed. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
