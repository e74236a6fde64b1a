import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';

const LONGEST_BACK_OFF = 60_000;

export async function limitModel(
  database: Database,
  { key, retryAfterMs }: { key: string; retryAfterMs?: number | undefined },
): Promise<number> {
  const named = retryAfterMs === undefined ? null : Math.ceil(retryAfterMs);
  const [row] = await database.query<{ rest: string }>('select holdfast.limit_model($1, $2, $3) as rest', [
    storableText(key),
    named,
    LONGEST_BACK_OFF,
  ]);
  return Number(row?.rest);
}

export async function modelAnswered(database: Database, key: string): Promise<void> {
  await database.query(
    'update holdfast.model_limits set refusals = 0 where key = $1 and refusals > 0 and until <= clock_timestamp()',
    [storableText(key)],
  );
}
