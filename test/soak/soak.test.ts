import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { putStore } from '../setup/made-store.ts';
import { tableOf } from './report.ts';
import { runSoak } from './run-soak.ts';

const seed = Number(process.env.HOLDFAST_SOAK_SEED ?? 1);

test.concurrent.each(['pglite', 'postgres'] as const)(
  'a dozen kills on %s: nothing lost, nothing doubled, every message answered [crash.soak]',
  { timeout: 600_000 },
  async (store) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
    if (store === 'pglite') putStore(folder);
    const report = await runSoak({
      seed,
      kills: 12,
      turns: 10,
      store,
      folder,
      workers: 1,
      atOnce: 3,
      every: [300, 1_500],
    });
    expect(report.violations, tableOf(report)).toEqual([]);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(12);
    expect(report.turns).toBeGreaterThanOrEqual(10);
    expect(report.effects.expected).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  },
);
