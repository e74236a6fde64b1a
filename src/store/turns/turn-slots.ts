import type { Database } from '../engine/database.ts';
import { sessionKeys } from '../sessions/session-key.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { LimitStore, TurnSlot } from './limit-store.ts';

export async function freeTurnSlot(
  database: Database,
  { invocationId, ...names }: SessionNames & { invocationId: string },
): Promise<void> {
  await database.query('delete from holdfast.turn_slots where name_key = $1 and invocation_id = $2', [
    sessionKeys(names).name,
    invocationId,
  ]);
}

export async function takeTurnSlot(
  database: Database,
  { invocationId, quota, ...names }: Parameters<LimitStore['takeTurnSlot']>[0],
): Promise<TurnSlot> {
  const keys = sessionKeys(names);
  const [row] = await database.query<{ full: { app: number; user: number } | null }>(
    'select holdfast.take_turn_slot($1, $2, $3, $4, $5, $6) as full',
    [keys.name, keys.app, keys.user, invocationId, quota.perApp, quota.perUser],
  );
  const full = row?.full ?? undefined;
  return full === undefined ? { kind: 'taken' } : { kind: 'full', ofApp: full.app, ofUser: full.user };
}
