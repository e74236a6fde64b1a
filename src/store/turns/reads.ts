import type { Content } from '../../events/content.ts';
import type { ChainFence, InvocationStatus } from '../../protocol/agent-run.ts';
import { stepKeyOf } from '../../protocol/identity.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { checkWhole } from '../engine/whole-number.ts';
import { sessionKeys } from '../sessions/session-key.ts';
import { type EventRow, storedEvent } from '../sessions/stored-event.ts';
import type {
  CallAsPlanned,
  KnownCall,
  ReadEvents,
  RecordedInvocation,
  SessionNames,
  StoredEvent,
} from '../store.ts';
import { placeOfCall } from './call-place.ts';

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

/** An invocation that was retried is answered with its newest generation. */
const INVOCATION = `select r.session_id, r.run_key, r.message_id, r.status, r.outcome, r.first_seq, r.last_seq,
  r.requester, s.last_seq as session_seq
from holdfast.sessions s
join holdfast.runs r on r.session_id = s.id
where s.name_key = $1 and r.run_key = coalesce((
  select n.run_key from holdfast.runs n
  where n.session_id = s.id and n.origin = (
    select coalesce(o.origin, o.run_key) from holdfast.runs o where o.session_id = s.id and o.run_key = $2)
  order by n.generation desc limit 1), $2)`;

interface InvocationRow {
  session_id: string;
  run_key: string;
  message_id: string | null;
  status: InvocationStatus;
  outcome: InvocationOutcome | null;
  first_seq: string;
  last_seq: string;
  requester: string | null;
  session_seq: string;
}

export async function newestFence(database: Database, names: SessionNames): Promise<ChainFence | undefined> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.sessions')
      .select(['fence_started_at', 'fence_invocation'])
      .where('name_key', '=', sessionKeys(names).name)
      .compile(),
  );
  return row && { startedAt: Number(row.fence_started_at), invocation: row.fence_invocation };
}

export async function findInvocation(
  database: Database,
  names: SessionNames,
  invocationId: string,
): Promise<RecordedInvocation | undefined> {
  const [row] = await database.query<InvocationRow>(INVOCATION, [
    sessionKeys(names).name,
    storableText(invocationId),
  ]);
  if (row === undefined) return undefined;
  return {
    session: row.session_id,
    invocationId: row.run_key,
    messageId: row.message_id ?? '',
    status: row.status,
    from: Number(row.first_seq),
    to: Number(row.status === 'running' ? row.session_seq : row.last_seq),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    ...(row.requester === null ? {} : { requester: row.requester }),
  };
}

export async function readEvents(database: Database, read: ReadEvents): Promise<StoredEvent[]> {
  const { after = 0, limit = DEFAULT_LIMIT } = read;
  checkWhole('after', after);
  checkWhole('limit', limit);
  const [row] = await database.query<{ events: EventRow[] | null }>(
    `select holdfast.events_of(s.id, $2, $3) as events from holdfast.sessions s where s.name_key = $1`,
    [sessionKeys(read).name, after, limit],
  );
  return (row?.events ?? []).map(storedEvent);
}

/**
 * A call's response, or its arguments while it has none; a step's key gives the bodies of what it said, in order. A fork
 * finds what its parents had up to where it was forked. The keys of a step's callbacks begin with that of the first.
 */
const REFERENCE = `select c.response, c.args, c.body
from holdfast.sessions s
cross join lateral holdfast.lineage(s.id, null) l
cross join lateral (
  select t.response, t.args, null::json as body, 0 as seq from holdfast.ledger t
  where t.session_id = l.of_session and t.key = $2 and t.kind = 'call' and (l.of_session = s.id or exists (
    select from holdfast.ledger p
    where p.session_id = l.of_session and p.key = t.run_key || '.' || t.step and p.seq <= l.up_to))
  union all
  select null, null, e.body, e.seq from holdfast.events e
  where e.session_id = l.of_session and e.dedupe_key = 'model:' || $2 and e.seq <= l.up_to
  union all
  select null, null, e.body, e.seq from holdfast.events e
  where e.session_id = l.of_session and e.dedupe_key >= 'callback:' || $2 and e.dedupe_key < 'callback:' || $2 || '/'
    and e.run_key || '.' || e.step = $2 and e.seq <= l.up_to
  offset 0
) c
where s.name_key = $1 order by c.seq`;

/** Of a call, or of a model step. */
export async function readOnce(
  database: Database,
  { session, callKey }: { session: string; callKey: string },
): Promise<Record<string, unknown>> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.ledger')
      .select('once')
      .where('session_id', '=', session)
      .where('key', '=', storableText(callKey))
      .compile(),
  );
  return row?.once ?? {};
}

export async function findCall(
  database: Database,
  { session, callKey }: { session: string; callKey: string },
): Promise<KnownCall | undefined> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.ledger')
      .select(['status', 'attempts', 'once', 'prepared'])
      .where('session_id', '=', session)
      .where('key', '=', storableText(callKey))
      .where('kind', '=', 'call')
      .compile(),
  );
  if (row === undefined) return undefined;
  const { status, attempts, once, prepared } = row;
  return {
    settled: status === 'settled',
    attempts,
    once: once ?? {},
    ...(prepared === null ? {} : { prepared }),
  };
}

export async function findPlannedCall(
  database: Database,
  { session, callKey }: { session: string; callKey: string },
): Promise<CallAsPlanned | undefined> {
  const { runKey, step } = placeOfCall(callKey);
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.ledger')
      .select('outcome')
      .where('session_id', '=', storableText(session))
      .where('key', '=', storableText(stepKeyOf(runKey, step)))
      .where('kind', '=', 'step')
      .compile(),
  );
  const outcome = row?.outcome;
  const call = outcome?.kind === 'calls' ? outcome.calls.find((one) => one.callKey === callKey) : undefined;
  if (outcome?.kind !== 'calls' || call === undefined) return undefined;
  const { agent, root, place } = outcome;
  return {
    ...call,
    by: {
      agent,
      ...(root === undefined ? {} : { root }),
      ...(place === undefined ? {} : { place }),
    },
  };
}

/** The call whose agent's session this is; undefined for that of a turn. */
export async function findPlanningCall(
  database: Database,
  session: string,
): Promise<CallAsPlanned | undefined> {
  const [row] = await database.read(
    database.db
      .selectFrom('holdfast.sessions')
      .select(['caller_session', 'call_key'])
      .where('id', '=', storableText(session))
      .compile(),
  );
  if (!row?.caller_session || !row.call_key) return undefined;
  return await findPlannedCall(database, { session: row.caller_session, callKey: row.call_key });
}

/** By session, key of the call, key of its step. Look-ups by key: a join may read the whole tables. */
export const ARGUMENTS_OF_CALL = `coalesce((
    select coalesce(a.edited_args, a.args)
    from (select * from holdfast.approvals t where t.call_key = $2 offset 0) a where a.session_id = $1
    order by length(a.request_id) desc, a.request_id desc limit 1
  ), (
    select l.args from holdfast.ledger l where l.session_id = $1 and l.key = $2 and l.kind = 'call'
  ), (
    select c.value #> '{args,value}'
    from holdfast.ledger s cross join lateral json_array_elements(s.outcome -> 'calls') c
    where s.session_id = $1 and s.key = $3 and c.value ->> 'callKey' = $2
  ))`;

export async function callArguments(
  database: Database,
  { session, callKey }: { session: string; callKey: string },
): Promise<Record<string, unknown> | undefined> {
  const { runKey, step } = placeOfCall(callKey);
  const keys = [session, storableText(callKey), stepKeyOf(runKey, step)];
  const [row] = await database.query<{ args: Record<string, unknown> | null }>(
    `select ${ARGUMENTS_OF_CALL} as args`,
    keys,
  );
  return row?.args ?? undefined;
}

interface ReferenceRow {
  response: Record<string, unknown> | null;
  args: Record<string, unknown> | null;
  body: { content?: Content } | null;
}

/** A step's text is that of the last event with text: a callback may have the last word. */
export async function readReference(database: Database, names: SessionNames, key: string): Promise<unknown> {
  const rows = await database.query<ReferenceRow>(REFERENCE, [sessionKeys(names).name, storableText(key)]);
  const [first] = rows;
  if (first === undefined) return undefined;
  if (first.body === null) return first.response ?? first.args ?? undefined;
  return rows.map(({ body }) => textOf(body?.content)).findLast((text) => text !== '') ?? '';
}

function textOf(content: Content | undefined): string {
  return (content?.parts ?? []).map(({ thought, text }) => (thought ? '' : (text ?? ''))).join('');
}
