import type { Content } from '../../events/content.ts';
import { textOf } from '../../events/content.ts';
import { placeOfCall, stepKeyOf } from '../../protocol/identity.ts';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { sessionKeys } from '../sessions/session-names.ts';
import { CallLedger, neverBegun } from './call-ledger.ts';
import type { CallAsPlanned, CallStore } from './call-store.ts';
import type { UnawaitedBeginnings } from './unawaited-beginnings.ts';

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

interface ReferenceRow {
  response: Record<string, unknown> | null;
  args: Record<string, unknown> | null;
  body: { content?: Content } | null;
}

/** A client answers the calls of the newest turn: older ones were answered, or never will be. */
const MOST_EVENTS = 100;

/**
 * Calls of a step that workers run stand in its row of the ledger, which is written together with its event. A fork reads both where
 * it comes from.
 */
const FIND_CLIENT_CALLS = `
select e.body -> 'content' as content
from holdfast.sessions s
cross join lateral holdfast.lineage(s.id, null) p
join holdfast.events e on e.session_id = p.of_session and e.seq <= p.up_to and e.seq > s.last_seq - ${MOST_EVENTS}
  and e.kind = 'model'
join holdfast.ledger l on l.session_id = e.session_id and l.key = e.run_key || '.' || e.step
where s.name_key = $1 and l.status = 'settled' and coalesce(array_length(l.call_keys, 1), 0) = 0`;

export function postgresCalls(
  database: Database,
  live: LiveNotices,
  unawaited: UnawaitedBeginnings,
): CallStore {
  const ledger = new CallLedger(database, unawaited);
  return {
    async readOnce({ session, callKey }) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.ledger')
          .select('once')
          .where('session_id', '=', session)
          .where('key', '=', storableText(callKey))
          .compile(),
      );
      return row?.once ?? {};
    },
    async findCall({ session, callKey }) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.ledger')
          .select(['status', 'attempts', 'ended', 'once', 'prepared'])
          .where('session_id', '=', session)
          .where('key', '=', storableText(callKey))
          .where('kind', '=', 'call')
          .compile(),
      );
      if (row === undefined) return undefined;
      const { status, attempts, ended, once, prepared } = row;
      return {
        settled: status === 'settled',
        attempts,
        unknown: attempts > ended,
        once: once ?? {},
        ...(prepared === null ? {} : { prepared }),
      };
    },
    async callArguments({ session, callKey }) {
      const { runKey, step } = placeOfCall(callKey);
      const keys = [session, storableText(callKey), stepKeyOf(runKey, step)];
      const [row] = await database.query<{ args: Record<string, unknown> | null }>(
        `select ${ARGUMENTS_OF_CALL} as args`,
        keys,
      );
      return row?.args ?? undefined;
    },
    /** A step's text is that of the last event with text: a callback may have the last word. */
    async readReference(names, key) {
      const rows = await database.query<ReferenceRow>(REFERENCE, [
        sessionKeys(names).name,
        storableText(key),
      ]);
      const [first] = rows;
      if (first === undefined) return undefined;
      if (first.body === null) return first.response ?? first.args ?? undefined;
      return rows.map(({ body }) => textOf(body?.content)).findLast((text) => text !== '') ?? '';
    },
    async recordOnce(once) {
      const { session, callKey, key, value } = once;
      return await unawaited.recorded(session, callKey, async () => {
        const [row] = await database.query<{ found: boolean; value: unknown }>(
          'select o.value is not null as found, o.value from holdfast.record_once($1, $2, $3, $4) o (value)',
          [session, callKey, storableText(key), jsonText(value)],
        );
        if (!row?.found) throw neverBegun(callKey);
        return row.value;
      });
    },
    askOnce: (asked) => unawaited.begun(asked.session, asked.callKey, () => ledger.askOnce(asked)),
    async findClientCalls(names) {
      const rows = await database.query<{ content: Content | null }>(FIND_CLIENT_CALLS, [
        sessionKeys(names).name,
      ]);
      return rows.flatMap(({ content }) =>
        (content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
      );
    },
    async beginCall(call) {
      const begun = await ledger.begin(call);
      if (begun.kind === 'started') {
        const { session, runKey, callKey, tool } = call;
        live.tell({ type: 'call started', session, runKey, callKey, tool, attempt: begun.attempt });
      }
      return begun;
    },
    async settleCall(call) {
      const { settled, runKey, tool } = await ledger.settle(call);
      unawaited.forget(call.session, call.callKey);
      if (settled.first) {
        const { session, callKey } = call;
        live.tell({ type: 'call finished', session, runKey, callKey, tool, failed: settled.failed });
      }
      return settled;
    },
    recordCallFailure({ callKey, ...failed }) {
      return unawaited.recorded(failed.session, callKey, () =>
        recordFailure(database, { ...failed, key: callKey }),
      );
    },
    findPlannedCall: (call) => findPlannedCall(database, call),
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
      ...defined({ root, place }),
    },
  };
}

/** Counts a failed attempt of a step or a call, once; returns how many count. */
export async function recordFailure(
  database: Database,
  failed: { session: string; key: string; error: string; counts?: boolean; attempt?: number },
): Promise<number> {
  const { session, key, error, counts = true, attempt } = failed;
  const [row] = await database.query<{ failures: number | null }>(
    'select holdfast.record_failure($1, $2, $3, $4, $5) as failures',
    [session, key, storableText(error), counts, attempt],
  );
  if (row === undefined || row.failures === null) throw neverBegun(key);
  return row.failures;
}
