import type { Database } from './database.ts';
import { jsonText, storableText } from './json-text.ts';
import { StoreBehindHistory } from './store-errors.ts';

/** Counts a failed attempt of a step or a call, once; returns how many count. */
export async function recordFailure(
  database: Database,
  failed: { session: string; key: string; error: string; counts: boolean; attempt: number | undefined },
): Promise<number> {
  const { session, key, error, counts, attempt } = failed;
  const [row] = await database.query<{ failures: number | null }>(
    'select holdfast.record_failure_1($1, $2, $3, $4, $5) as failures',
    [session, key, storableText(error), counts, attempt],
  );
  return row?.failures ?? missing(key);
}

/** Keeps the first value of a name in a call; returns the one that is kept. */
export async function recordOnce(
  database: Database,
  once: { session: string; callKey: string; key: string; value: unknown },
): Promise<unknown> {
  const { session, callKey, key, value } = once;
  const [row] = await database.query<{ found: boolean; value: unknown }>(
    'select o.value is not null as found, o.value from holdfast.record_once_1($1, $2, $3, $4) o (value)',
    [session, callKey, storableText(key), jsonText(value)],
  );
  return row?.found ? row.value : missing(callKey);
}

function missing(key: string): never {
  throw new StoreBehindHistory(`${key} was begun and is not in the store`);
}
