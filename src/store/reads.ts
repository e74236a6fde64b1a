import type { Content } from '../events/content.ts';
import type { Database } from './database.ts';
import { sessionKeys } from './session-key.ts';
import type { ReadEvents, RecordedInvocation, SessionNames, StoredEvent } from './store.ts';
import { type EventRow, storedEvent } from './stored-event.ts';

const DEFAULT_LIMIT = 1_000;

export async function findSession(
  database: Database,
  names: SessionNames,
): Promise<{ session: string; seq: number; lastAgent: string | undefined } | undefined> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.sessions')
      .select(['id', 'last_seq', 'last_agent'])
      .where('name_key', '=', sessionKeys(names).name)
      .compile(),
  );
  return row && { session: row.id, seq: Number(row.last_seq), lastAgent: row.last_agent ?? undefined };
}

export async function findInvocation(
  database: Database,
  names: SessionNames,
  invocationId: string,
): Promise<RecordedInvocation | undefined> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.runs as r')
      .innerJoin('holdfast.sessions as s', 's.id', 'r.session_id')
      .select(['r.session_id', 'r.message_id', 'r.status', 'r.outcome', 'r.first_seq', 'r.last_seq'])
      .select('s.last_seq as session_seq')
      .where('s.name_key', '=', sessionKeys(names).name)
      .where('r.run_key', '=', invocationId)
      .compile(),
  );
  if (row === undefined) return undefined;
  return {
    session: row.session_id,
    invocationId,
    messageId: row.message_id ?? '',
    status: row.status,
    from: Number(row.first_seq),
    to: Number(row.status === 'running' ? row.session_seq : row.last_seq),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
  };
}

export async function readEvents(database: Database, read: ReadEvents): Promise<StoredEvent[]> {
  const [row] = await database.query<{ events: EventRow[] | null }>(
    `select holdfast.events_of_1(s.id, $2, $3) as events from holdfast.sessions s where s.name_key = $1`,
    [sessionKeys(read).name, read.after ?? 0, read.limit ?? DEFAULT_LIMIT],
  );
  return (row?.events ?? []).map(storedEvent);
}

/** A call's response, or its arguments while it has none; a step's key gives the text of its model event. */
export async function readReference(database: Database, names: SessionNames, key: string): Promise<unknown> {
  const { name } = sessionKeys(names);
  const [call] = await database.read(
    database.db
      .selectFrom('holdfast.ledger as l')
      .innerJoin('holdfast.sessions as s', 's.id', 'l.session_id')
      .select(['l.response', 'l.args'])
      .where('s.name_key', '=', name)
      .where('l.key', '=', key)
      .where('l.kind', '=', 'call')
      .compile(),
  );
  if (call !== undefined) return call.response ?? call.args ?? undefined;
  const [step] = await database.read(
    database.db
      .selectFrom('holdfast.events as e')
      .innerJoin('holdfast.sessions as s', 's.id', 'e.session_id')
      .select('e.body')
      .where('s.name_key', '=', name)
      .where('e.dedupe_key', '=', `model:${key}`)
      .compile(),
  );
  return step && textOf(step.body.content);
}

function textOf(content: Content | undefined): string {
  return (content?.parts ?? []).map(({ thought, text }) => (thought ? '' : (text ?? ''))).join('');
}
