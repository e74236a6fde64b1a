import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { AttemptReplaced, StoreBehindHistory } from '../store-errors.ts';

/** Counts a failed attempt of a step or a call, once; returns how many count. */
export async function recordFailure(
  database: Database,
  failed: { session: string; key: string; error: string; counts: boolean; attempt: number | undefined },
): Promise<number> {
  const { session, key, error, counts, attempt } = failed;
  const [row] = await database.query<{ failures: number | null }>(
    'select holdfast.record_failure($1, $2, $3, $4, $5) as failures',
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
    'select o.value is not null as found, o.value from holdfast.record_once($1, $2, $3, $4) o (value)',
    [session, callKey, storableText(key), jsonText(value)],
  );
  return row?.found ? row.value : missing(callKey);
}

const ASK_ONCE = `select l.once -> $3 is not null as found, (l.once -> $3)::json as value,
    $4::int is null or (l.attempts = $4 and l.status <> 'settled') as newest
  from holdfast.ledger l where l.session_id = $1 and l.key = $2`;

/** What is kept under a name in a call; undefined where nothing is. */
export async function askOnce(
  database: Database,
  { session, callKey, key, attempt }: { session: string; callKey: string; key: string; attempt?: number },
): Promise<unknown> {
  const [row] = await database.query<{ found: boolean; value: unknown; newest: boolean }>(ASK_ONCE, [
    session,
    callKey,
    storableText(key),
    attempt ?? null,
  ]);
  if (row === undefined) return attempt === undefined ? undefined : missing(callKey);
  if (!row.newest) throw new AttemptReplaced(callKey);
  return row.found ? row.value : undefined;
}

function missing(key: string): never {
  throw new StoreBehindHistory(`${key} was begun and is not in the store`);
}
