import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { putStore } from '../setup/made-store.ts';
import { tableOf } from './report.ts';
import { runSoak } from './run-soak.ts';

const seed = Number(process.env.HOLDFAST_SOAK_SEED ?? 1);
const KILLS = 75;

describe.each(['inline', 'chain'] as const)('%s', (steps) => {
  test.concurrent.each(['pglite', 'postgres'] as const)(
    `${KILLS} kills on %s: nothing lost, nothing doubled, every message answered [crash.soak] [tool.inline] [agent.chain]`,
    { timeout: 3_600_000 },
    async (store) => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
      if (store === 'pglite') putStore(folder);
      const report = await runSoak({
        ...{ seed, steps, store, folder },
        ...{ kills: KILLS, turns: 40, workers: 1, atOnce: 3, every: [300, 1_500] },
      });
      expect(report.violations, tableOf(report)).toEqual([]);
      expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(KILLS);
      expect(report.effects.expected).toBeGreaterThan(0);
      rmSync(folder, { recursive: true, force: true });
    },
  );
});
