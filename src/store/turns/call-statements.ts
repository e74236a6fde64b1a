import { UNAWAITED } from '../engine/database.ts';
import { remembered } from './remembered.ts';

const BEGUN_COLUMNS = `session_id, key, kind, run_key, step, idx, call_id, tool, status, args_digest, attempts,
  begun_by, started_at, begun_for`;

/** Of a row `l` that there is: the call is settled, or an attempt that was scheduled later has begun. */
const STAYS = `(l.status = 'settled' or l.begun_for > excluded.begun_for) is true`;

/** An attempt more, unless the row stays, or this beginning, by its token, is there already. */
const BEGUN_AGAIN = `on conflict on constraint ledger_pkey do update set
  status = case when ${STAYS} then l.status else 'started' end,
  attempts = l.attempts + (not ${STAYS} and l.begun_by is distinct from excluded.begun_by)::int,
  begun_by = case when ${STAYS} then l.begun_by else excluded.begun_by end,
  args_digest = coalesce(l.args_digest, excluded.args_digest),
  started_at = case when ${STAYS} then l.started_at else excluded.started_at end,
  begun_for = case when ${STAYS} then l.begun_for else coalesce(excluded.begun_for, l.begun_for) end`;

/** Whether no later attempt has begun at a step of the run `r` than the one whose inline call begins. */
const isNewest = (inlineFor: string) => `(r.begun_for > ${inlineFor}) is not true`;

/** Whether a wanted row `u` has its step. `offset 0` keeps it a look-up by key: a join may read the whole tables. */
const stepIsThere = (ofRun = 'true') => `exists (select from holdfast.runs r
      where r.session_id = u.session_id and r.run_key = u.run_key and ${ofRun} offset 0)
    and exists (select from holdfast.ledger s
      where s.session_id = u.session_id and s.key = u.run_key || '.' || u.step offset 0)`;

/**
 * Of a call that nobody has begun: people were asked about it when it was planned, and it begins with what they have answered, or not
 * at all. One that has asked them itself has begun before.
 */
export function waitsForAnswer(session: string, key: string): string {
  return `exists (select from (select * from holdfast.approvals a where a.call_key = ${key} offset 0) q
      where q.session_id = ${session})
    and not exists (select from holdfast.ledger b
      where b.session_id = ${session} and b.key = ${key} and (b.attempts > 0 or b.status = 'settled') offset 0)`;
}

/** Of a ledger row `l`: what a call that begins is told of itself. Another token than its own means that it comes too late. */
function begun(wantArgs: string, token: string): string {
  return `case
    when l.status = 'settled' then holdfast.settled_call(l.response, l.failed, l.actions)
    when l.begun_by is distinct from ${token} then json_build_object('late', true)
    else json_build_object('attempts', l.attempts, 'failures', l.failures, 'unknown', l.attempts - 1 > l.ended,
      'once', l.once, 'args', case when ${wantArgs} then l.args end,
      'error', case when l.failures > 0 then l.last_error end, 'prepared', l.prepared) end`;
}

/** Of a session `s` and its run's `r`: the parts of the state. */
function state(temporary: string): string {
  return `holdfast.state_parts(s.state, s.app_key, s.user_key, ${temporary})`;
}

const TEMPORARY_OF_RUN = `case when r.run_key = r.invocation_id then r.temp else (
  select o.temp from holdfast.runs o where o.session_id = r.session_id and o.run_key = r.invocation_id) end`;

/** Of a run `r` and its session `s`: what its calls share. The message is read only where it is wanted, and
 * by its key: a join may read all events of the session. */
function context(wantContent: string): string {
  return `json_build_object('names', json_build_array(s.app, s.user_id, s.name), 'invocationId', r.invocation_id,
    'content', case when ${wantContent} then (
      select e.body -> 'content' from holdfast.events e
      where e.session_id = r.session_id and e.seq = (
        select o.message_seq from holdfast.runs o
        where o.session_id = r.session_id and o.run_key = r.invocation_id)) end,
    'state', ${state(TEMPORARY_OF_RUN)}, 'remembered', ${remembered('r.session_id', 'r.run_key')})`;
}

/** The commit waits for no disk where the parameter is true. */
function unawaited(parameter: string): string {
  return `case when ${parameter}::boolean then ${UNAWAITED} end as unawaited`;
}

/** One call, as most steps have. Look-ups by key in what is returned: no join to plan, and nothing for a settled one. */
function beginOne(context: string): string {
  return `insert into holdfast.ledger as l (${BEGUN_COLUMNS})
select $1::text, $2::text, 'call', $3::text, $4::int, $5::int, $6::text, $7::text, 'started', $8::text, 1, $9::uuid,
  clock_timestamp(), $11::bigint
where exists (select from holdfast.runs r where r.session_id = $1 and r.run_key = $3 and ${isNewest('$13::bigint')})
  and exists (select from holdfast.ledger s where s.session_id = $1 and s.key = $3 || '.' || $4)
  and not (${waitsForAnswer('$1', '$2')})
${BEGUN_AGAIN}
returning ${begun('$10::boolean', '$9::uuid')} as call, case when l.status <> 'settled' then (${context}) end as context,
  ${unawaited('$12')}`;
}

export const BEGIN_FIRST = beginOne(`select ${context('true')}
  from holdfast.runs r join holdfast.sessions s on s.id = r.session_id where r.session_id = $1 and r.run_key = $3`);

/** For a run that this process knows: $14 is its invocation. */
export const BEGIN_NEXT = beginOne(
  `select json_build_object('state', ${state(
    '(select o.temp from holdfast.runs o where o.session_id = $1 and o.run_key = $14)',
  )}, 'remembered', ${remembered('$1', '$3')}) from holdfast.sessions s where s.id = $1`,
);

export const BEGIN_MANY = `with wanted as (
  select u.* from json_to_recordset($1::json) as u(n int, session_id text, key text, run_key text, step int, idx int,
    call_id text, tool text, digest text, token uuid, want_args boolean, begun_for bigint, inline_for bigint)
  where ${stepIsThere(isNewest('u.inline_for'))}
), begun as (
  insert into holdfast.ledger as l (${BEGUN_COLUMNS})
    select w.session_id, w.key, 'call', w.run_key, w.step, w.idx, w.call_id, w.tool, 'started', w.digest, 1, w.token,
      clock_timestamp(), w.begun_for
    from wanted w where not (${waitsForAnswer('w.session_id', 'w.key')}) order by w.session_id, w.key
    ${BEGUN_AGAIN}
    returning l.*
) select
  (select json_agg(json_build_array(w.n, ${begun('w.want_args', 'w.token')}))
    from begun l join wanted w on w.session_id = l.session_id and w.key = l.key) as calls,
  (select json_agg(json_build_array(u.n, ${context('u.want_content')}))
    from json_to_recordset($2::json) as u(n int, session_id text, run_key text, want_content boolean)
    cross join lateral (select * from holdfast.sessions t where t.id = u.session_id offset 0) s
    cross join lateral (
      select * from holdfast.runs t where t.session_id = u.session_id and t.run_key = u.run_key offset 0) r) as contexts,
  ${unawaited('$3')}`;

/** The outcome of a call that is under way: the first one, so that there is nothing to compare. */
export const SETTLE_STARTED = `update holdfast.ledger l set status = 'settled', response = $3, failed = $4, actions = $5,
  stack = $6, settled_by = $7, parts = $8, will_continue = $9, settled_at = clock_timestamp()
where l.session_id = $1 and l.key = $2 and l.status = 'started'
returning l.tool`;

/** The first outcome wins; any other is answered with it. */
export const SETTLE_MANY = `with wanted as (
  select u.* from json_to_recordset($1::json) as u(n int, session_id text, key text, run_key text, step int, idx int,
    response json, failed boolean, actions json, parts json, stack text, token uuid, will_continue boolean)
  where ${stepIsThere()}
), settled as (
  insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, response,
      failed, actions, parts, stack, settled_by, will_continue, settled_at)
    select w.session_id, w.key, 'call', w.run_key, w.step, w.idx, p.call_id, p.tool, 'settled', w.response,
      w.failed, w.actions::jsonb, w.parts, w.stack, w.token,
      w.will_continue, clock_timestamp()
    from wanted w
    left join lateral (
      select s.call_ids[w.idx + 1] as call_id, s.call_tools[w.idx + 1] as tool from holdfast.ledger s
      where s.session_id = w.session_id and s.key = w.run_key || '.' || w.step offset 0
    ) p on true
    order by w.session_id, w.key
    on conflict on constraint ledger_pkey do update set
      status = 'settled',
      response = case l.status when 'settled' then l.response else excluded.response end,
      failed = case l.status when 'settled' then l.failed else excluded.failed end,
      actions = case l.status when 'settled' then l.actions else excluded.actions end,
      parts = case l.status when 'settled' then l.parts else excluded.parts end,
      stack = case l.status when 'settled' then l.stack else excluded.stack end,
      settled_by = case l.status when 'settled' then l.settled_by else excluded.settled_by end,
      will_continue = case l.status when 'settled' then l.will_continue else excluded.will_continue end,
      settled_at = case l.status when 'settled' then l.settled_at else excluded.settled_at end
    returning l.*
) select w.n, d.settled_by is not distinct from w.token as first, d.tool,
  case when d.settled_by is distinct from w.token then d.response end as response, d.failed,
  case when d.settled_by is distinct from w.token then d.actions end as actions,
  case when w.actions::jsonb ? 'artifacts' and d.settled_by is not distinct from w.token
    then holdfast.add_artifact_versions(d.session_id, d.key, null, w.actions -> 'artifacts')::text end as saved
from settled d join wanted w on w.session_id = d.session_id and w.key = d.key`;

/** Values of `once` as they are by now, and whether the attempts that ask are still the newest. */
export const ASK_ONCE = `select u.n, l.once -> u.name is not null as found, (l.once -> u.name)::json as value,
  u.attempt is null or (l.attempts = u.attempt and l.status <> 'settled') as newest
from json_to_recordset($1::json) as u(n int, session_id text, key text, name text, attempt int)
cross join lateral (
  select * from holdfast.ledger t where t.session_id = u.session_id and t.key = u.key offset 0) l`;
