import { sql } from 'kysely';
import type { OpenedStore } from '../src/store/open-store.ts';
import { median } from './statistics.ts';

const ROUNDS = 100;

/**
 * Milliseconds for which a commit waits for the disk: the median of an insert with `synchronous_commit`, less that of one without.
 * Undefined for the embedded store, which does not wait.
 */
export async function diskSyncOf({ db }: OpenedStore): Promise<number | undefined> {
  if (process.env.HOLDFAST_STORE === undefined) return undefined;
  const times = { on: [] as number[], off: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const setting of ['on', 'off'] as const) {
      const began = performance.now();
      await sql`with s as (select set_config('synchronous_commit', ${setting}, true) as value)
        insert into bench_writes (body) select value from s`.execute(db);
      times[setting].push(performance.now() - began);
    }
  }
  return median(times.on) - median(times.off);
}
