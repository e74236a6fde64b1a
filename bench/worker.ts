import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowExecutionDescription } from '@temporalio/client';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { openStore } from '../src/store/open-store.ts';
import { acquireFolder, openTemporal } from '../worker/index.ts';
import { median } from './statistics.ts';

/** Measures how soon a worker polls after its process has started, and the memory of a parked turn. */
const PARKED = 200;

const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
const temporal = await openTemporal({ folder });
const connection = await Connection.connect(temporal.connectionOptions);
const temporalClient = new Client({ connection });
const client = new HoldfastClient({ temporal: temporalClient });
await (await openStore({ folder })).close();
try {
  const starts: number[] = [];
  for (let round = 0; round < 5; round++) {
    const { child, pollingAfterMs } = await startWorker('500');
    starts.push(pollingAfterMs);
    await stop(child);
  }
  console.log(
    `worker polls after ${median(starts).toFixed(0)} ms (${starts.map((ms) => ms.toFixed(0)).join(', ')})`,
  );
  const cached = await memoryPerTurn('500');
  const evicted = await memoryPerTurn('2');
  console.log(`memory per parked turn: ${megabytes(cached)} MB cached, ${megabytes(evicted)} MB evicted`);
} finally {
  await connection.close();
  await temporal.stop?.();
  release();
  rmSync(folder, { recursive: true, force: true });
}

async function startWorker(maxCached: string): Promise<{ child: ChildProcess; pollingAfterMs: number }> {
  const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const child = fork(script, [temporal.address, folder, maxCached], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
  const [{ pollingAfterMs }] = (await once(child, 'message')) as [{ pollingAfterMs: number }];
  return { child, pollingAfterMs };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function memoryPerTurn(maxCached: string): Promise<number> {
  const { child } = await startWorker(maxCached);
  const park = async (count: number, prefix: string) => {
    for (let turn = 0; turn < count; turn++) {
      await client.sendMessage({
        app: 'bench',
        userId: maxCached,
        sessionId: `${prefix}${turn}`,
        message: 'park',
      });
    }
    for (let turn = 0; turn < count; turn++) {
      const handle = temporalClient.workflow.getHandle(`bench/${maxCached}/${prefix}${turn}`);
      while (!isParked(await handle.describe())) await setTimeout(20);
    }
  };
  await park(PARKED, 'warm');
  const before = await memoryOf(child);
  await park(PARKED, 'parked');
  const after = await memoryOf(child);
  await stop(child);
  return (after - before) / PARKED;
}

function isParked({ raw }: WorkflowExecutionDescription): boolean {
  const pending = raw.pendingActivities?.[0];
  return pending?.activityType?.name === 'park' && (pending.attempt ?? 0) > 1;
}

async function memoryOf(child: ChildProcess): Promise<number> {
  child.send('memory');
  const [{ rss }] = (await once(child, 'message')) as [{ rss: number }];
  return rss;
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(2);
}
