import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Database } from '../engine/database.ts';
import { jsonArray, jsonText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import type { Denial, DenialStore } from './denial-store.ts';

const MOST_LISTED = 1_000;
const MINUTE = 60_000;

/** A statement that is repeated after a lost connection may count twice: a count too many is better than none. */
const NOTE = `insert into holdfast.denials as d (minute, kind, facts, count, first_at, last_at)
select date_trunc('minute', to_timestamp(n.first / 1000)), decode(n.kind, 'hex'), n.facts, n.count,
  to_timestamp(n.first / 1000), to_timestamp(n.last / 1000)
from json_to_recordset($1::json) as n (kind text, facts json, count bigint, first float8, last float8)
order by 1, 2
on conflict (minute, kind) do update set count = d.count + excluded.count,
  first_at = least(d.first_at, excluded.first_at), last_at = greatest(d.last_at, excluded.last_at)`;

const SWEEP = `delete from holdfast.denials where minute < clock_timestamp() - interval '30 days'`;

type DenialRow = Selectable<Tables['holdfast.denials']>;

export async function noteDenials(
  database: Database,
  denials: readonly Denial[],
  { sweep = false }: Parameters<DenialStore['noteDenials']>[1] = {},
): Promise<void> {
  if (denials.length > 0) await database.query(NOTE, [jsonArray(notesOf(denials))]);
  if (sweep) await database.query(SWEEP);
}

export async function listDenials(
  database: Database,
  { since, limit = 100 }: Parameters<DenialStore['listDenials']>[0] = {},
): Promise<Denial[]> {
  let query = database.db.selectFrom('holdfast.denials').selectAll();
  if (since !== undefined) query = query.where('last_at', '>=', new Date(since));
  const rows = await database.read(
    query
      .orderBy('minute', 'desc')
      .orderBy('last_at', 'desc')
      .orderBy('kind')
      .limit(Math.min(limit, MOST_LISTED))
      .compile(),
  );
  return rows.map(denialOf);
}

/** One for each row: a statement can't add to a row twice. */
function notesOf(denials: readonly Denial[]): string[] {
  const notes = new Map<
    string,
    { kind: string; facts: string; times: Pick<Denial, 'count' | 'firstAt' | 'lastAt'> }
  >();
  for (const { count, firstAt, lastAt, ...kind } of denials) {
    const { reason, route, who, address, permission, app } = kind;
    const facts = jsonText({ reason, route, who, address, permission, app });
    const digest = createHash('sha256').update(facts).digest('hex');
    const row = `${Math.floor(firstAt / MINUTE)} ${digest}`;
    const { times = { count: 0, firstAt, lastAt } } = notes.get(row) ?? {};
    times.count += count;
    times.firstAt = Math.min(times.firstAt, firstAt);
    times.lastAt = Math.max(times.lastAt, lastAt);
    notes.set(row, { kind: digest, facts, times });
  }
  return [...notes.values()].map(
    ({ kind, facts, times: { count, firstAt, lastAt } }) =>
      `{"kind":"${kind}","facts":${facts},"count":${count},"first":${firstAt},"last":${lastAt}}`,
  );
}

function denialOf({ facts, count, first_at: first, last_at: last }: DenialRow): Denial {
  return { ...facts, count: Number(count), firstAt: first.getTime(), lastAt: last.getTime() };
}
