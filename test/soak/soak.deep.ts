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
