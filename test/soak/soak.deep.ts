import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { putStore } from '../setup/made-store.ts';
import { tableOf } from './report.ts';
import { runSoak } from './run-soak.ts';

const seed = Number(process.env.HOLDFAST_SOAK_SEED ?? 1);

/** Four of each victim. */
const KILLS = 12;
const TURNS = 10;

/** Turns of the soak that measures memory: 5,000 take about an hour. */
const HEAP_TURNS = Number(process.env.HOLDFAST_SOAK_TURNS ?? 150);
const MEASURED = 15;
/** Bytes, from the first to the last third of its turns: its beginning, and up to 16 MiB of what turns began with, which the store keeps. */
const MOST_GROWTH = 4_000_000 + HEAP_TURNS * 2_000;

test.concurrent.each(['pglite', 'postgres'] as const)(
  `${KILLS} kills on %s: nothing lost, nothing doubled, every message answered [crash.soak]`,
  { timeout: 600_000 },
  async (store) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
    if (store === 'pglite') putStore(folder);
    const report = await runSoak({
      seed,
      kills: KILLS,
      turns: TURNS,
      store,
      folder,
      workers: 1,
      atOnce: 3,
      every: [300, 1_500],
    });
    expect(report.violations, tableOf(report)).toEqual([]);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(KILLS);
    expect(report.turns).toBeGreaterThanOrEqual(TURNS);
    expect(report.effects.expected).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  },
);

test.concurrent('the heap of a worker holds no more after many turns than after few [worker.memory]', {
  timeout: 300_000 + HEAP_TURNS * 3_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
  const heapEvery = Math.ceil(HEAP_TURNS / MEASURED);
  const report = await runSoak({
    ...{ seed, folder, store: 'postgres', workers: 1 },
    ...{ kills: 0, turns: HEAP_TURNS, heapEvery },
  });
  expect(report.violations, tableOf(report)).toEqual([]);
  const third = Math.floor(report.heap.length / 3);
  // The least of each third: what is under way comes on top.
  const growth = Math.min(...report.heap.slice(-third)) - Math.min(...report.heap.slice(0, third));
  expect(growth, tableOf(report)).toBeLessThan(MOST_GROWTH);
  rmSync(folder, { recursive: true, force: true });
});
