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

/** What a worker caches in the run in which waiting turns are evicted. */
const FEW = 200;

/** So many are on their way at a time. */
const AT_ONCE = 20;

/** Turns that wait for a person, in one worker. */
export async function waitingTurns(turns: number): Promise<void> {
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
  const temporal = await openTemporal({ folder });
  const connection = await Connection.connect(temporal.connectionOptions);
  const store = await openStore({ folder });
  try {
    const place = { address: temporal.address, store, temporal: new Client({ connection }) };
    for (const cached of [2 * (turns + FEW), FEW]) {
      const { each, answered } = await measure({ ...place, cached, turns });
      const held = cached === FEW ? `cached at most ${FEW}` : 'all cached';
      const memory = (each / 1024 / 1024).toFixed(3);
      console.log(
        `${turns} turns wait, ${held}: ${memory} MB each; all answered in ${(answered / 1_000).toFixed(1)} s`,
      );
    }
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

/** @returns bytes of memory for each that waits, and milliseconds until all are answered. */
async function measure(run: Measured): Promise<{ each: number; answered: number }> {
  const { address, store, cached, turns } = run;
  const program = fileURLToPath(new URL('./waiting-worker-process.ts', import.meta.url));
  const child = fork(program, [address, store.socket ?? '', `${cached}`], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
  await once(child, 'message');
  const userId = `cached-${cached}`;
  // As many as fill the small cache: what a worker takes once is not counted.
  await park(run, userId, 0, FEW);
  const before = await memoryOf(child);
  await park(run, userId, FEW, FEW + turns);
  const after = await memoryOf(child);
  const answered = await answerAll(run, userId, FEW + turns);
  child.kill('SIGKILL');
  await once(child, 'exit');
  return { each: (after - before) / turns, answered };
}

const workflowIdOfTurn = (userId: string, turn: number) => workflowIdOf('bench', userId, `s${turn}`);

async function park({ temporal }: Measured, userId: string, from: number, to: number): Promise<void> {
  const client = new HoldfastClient({ temporal });
  await each(from, to, async (turn) => {
    await client.sendMessage({ app: 'bench', userId, sessionId: `s${turn}`, message: 'wait' });
  });
  await each(from, to, async (turn) => {
    const handle = temporal.workflow.getHandle(workflowIdOfTurn(userId, turn));
    for (;;) {
      // Not asked by a query, which would bring it back into the cache.
      const { raw } = await handle.describe();
      const waits = Number(raw.workflowExecutionInfo?.historyLength) > 8;
      if (waits && !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length === 0) return;
      await setTimeout(20);
    }
  });
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

async function memoryOf(child: ChildProcess): Promise<number> {
  child.send('memory');
  const [{ rss }] = (await once(child, 'message')) as [{ rss: number }];
  return rss;
}
