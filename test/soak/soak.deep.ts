import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { putStore } from '../setup/made-store.ts';
import { inTier } from '../setup/tier.ts';
import { tableOf } from './report.ts';
import { runSoak } from './run-soak.ts';

const seed = Number(process.env.HOLDFAST_SOAK_SEED ?? 1);

/** Each victim once, or four times. */
const KILLS = inTier(3, 12);

test.concurrent.each(inTier(['pglite'], ['pglite', 'postgres']) as ('pglite' | 'postgres')[])(
  `${KILLS} kills on %s: nothing lost, nothing doubled, every message answered [crash.soak]`,
  { timeout: 600_000 },
  async (store) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
    if (store === 'pglite') putStore(folder);
    const report = await runSoak({
      seed,
      kills: KILLS,
      turns: inTier(4, 10),
      store,
      folder,
      workers: 1,
      atOnce: 3,
      every: [300, 1_500],
    });
    expect(report.violations, tableOf(report)).toEqual([]);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(KILLS);
    expect(report.turns).toBeGreaterThanOrEqual(inTier(4, 10));
    expect(report.effects.expected).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  },
);
