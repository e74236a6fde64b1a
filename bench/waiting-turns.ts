import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { workflowIdOf } from '../src/protocol/identity.ts';
import { type OpenedStore, openStore } from '../src/store/open-store.ts';
import { acquireFolder, openTemporal } from '../worker/index.ts';
import { table } from './statistics.ts';
import type { WaitingWorker } from './waiting-worker-process.ts';

/** Size of a worker's cache in the run in which waiting turns are evicted. */
const FEW = 20;

/** So many are on their way at a time. */
const AT_ONCE = 20;

/** Turns that wait for a person, in one worker: all cached, and all but a few evicted. */
export async function waitingTurns(turns: number): Promise<void> {
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
  const temporal = await openTemporal({ folder });
  const connection = await Connection.connect(temporal.connectionOptions);
  const store = await openStore({ folder });
  try {
    const place = { address: temporal.address, store, temporal: new Client({ connection }) };
    const rows: string[][] = [];
    for (const cached of [2 * (turns + FEW), FEW]) {
      const { parked, answered, before, after } = await measure({ ...place, cached, turns });
      const each = (of: 'resident' | 'heap') => ((after[of] - before[of]) / turns / 1024).toFixed(1);
      const seconds = (ms: number) => (ms / 1_000).toFixed(1);
      rows.push([`${after.cached}`, each('heap'), each('resident'), seconds(parked), seconds(answered)]);
    }
    console.log(
      table([
        [`${turns} turns wait; cached`, 'heap KB each', 'resident KB each', 'parked s', 'answered s'],
        ...rows,
      ]),
    );
  } finally {
    await store.close();
    await connection.close();
    await temporal.stop?.();
    release();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  address: string;
  store: OpenedStore;
  temporal: Client;
  cached: number;
  turns: number;
}

/** The same worker before and after all turns; milliseconds until all wait, and until all are answered. */
async function measure(run: Measured): Promise<{
  parked: number;
  answered: number;
  before: WaitingWorker;
  after: WaitingWorker;
}> {
  const { address, store, cached, turns } = run;
  const program = fileURLToPath(new URL('./waiting-worker-process.ts', import.meta.url));
  const child = fork(program, [address, store.socket ?? '', `${cached}`], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  try {
    await once(child, 'message');
    const userId = `cached-${cached}`;
    // As many as fill the small cache: what a worker takes once is not counted.
    await park(run, userId, 0, FEW);
    const before = await stateOf(child);
    const from = performance.now();
    await park(run, userId, FEW, FEW + turns);
    const parked = performance.now() - from;
    const after = await stateOf(child);
    const expected = Math.min(cached, FEW + turns);
    if (after.cached > expected) throw new Error(`${after.cached} turns are cached, not ${expected}`);
    const answered = await answerAll(run, userId, FEW + turns);
    const { runs, calls } = await stateOf(child);
    if (runs !== FEW + turns || calls !== runs) {
      throw new Error(`${FEW + turns} calls were approved; ${calls} have run, ${runs} times`);
    }
    return { parked, answered, before, after };
  } finally {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await exited;
  }
}

const workflowIdOfTurn = (userId: string, turn: number) => workflowIdOf('bench', userId, `s${turn}`);

async function park({ temporal }: Measured, userId: string, from: number, to: number): Promise<void> {
  const client = new HoldfastClient({ temporal, searchAttributes: true });
  await each(from, to, async (turn) => {
    await client.sendMessage({ app: 'bench', userId, sessionId: `s${turn}`, message: 'wait' });
  });
  await each(from, to, async (turn) => {
    const handle = temporal.workflow.getHandle(workflowIdOfTurn(userId, turn));
    // Not asked by a query, which would bring it back into the cache.
    while (!(await waits(handle))) await setTimeout(20);
  });
}

async function waits(handle: ReturnType<Client['workflow']['getHandle']>): Promise<boolean> {
  const { raw, searchAttributes } = await handle.describe();
  const [status] = searchAttributes.HoldfastStatus ?? [];
  if (raw.pendingWorkflowTask || (raw.pendingActivities ?? []).length > 0) return false;
  return status === 'waiting_approval';
}

async function answerAll({ temporal }: Measured, userId: string, turns: number): Promise<number> {
  const from = performance.now();
  await each(0, turns, async (turn) => {
    const handle = temporal.workflow.getHandle(workflowIdOfTurn(userId, turn));
    await handle.signal('confirm', { confirmed: true });
  });
  await each(0, turns, async (turn) => {
    await temporal.workflow.getHandle(workflowIdOfTurn(userId, turn)).result();
  });
  return performance.now() - from;
}

async function each(from: number, to: number, work: (turn: number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: to - from }, (_, index) => from + index).values();
  const workOn = async () => {
    for (const turn of left) await work(turn);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workOn));
}

async function stateOf(child: ChildProcess): Promise<WaitingWorker> {
  child.send('state');
  const [state] = (await once(child, 'message')) as [WaitingWorker];
  return state;
}
