/** Calls, many at a time, and reads. */
export const calls = `
create function holdfast.begin_calls_1(
  sessions text[], keys text[], runs text[], steps int[], indexes int[], call_ids text[], tools text[],
  digests text[], tokens uuid[], want_args boolean[]
) returns table (n int, status text, response json, failed boolean, actions json, attempts int, failures int,
  unknown boolean, once json, args json)
language plpgsql as $$
#variable_conflict use_column
begin
  return query with wanted as (
    select u.* from unnest(sessions, keys, runs, steps, indexes, call_ids, tools, digests, tokens, want_args)
      with ordinality u (session_id, key, run_key, step, idx, call_id, tool, digest, token, want_args, n)
    where exists (select from holdfast.runs r where r.session_id = u.session_id and r.run_key = u.run_key)
  ), begun as (
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, args_digest,
        attempts, begun_by, started_at)
      select w.session_id, w.key, 'call', w.run_key, w.step, w.idx, w.call_id, w.tool, 'started', w.digest, 1,
        w.token, clock_timestamp()
      from wanted w order by w.session_id, w.key
      on conflict on constraint ledger_pkey do update set
        status = case l.status when 'settled' then l.status else 'started' end,
        attempts = l.attempts
          + (l.status <> 'settled' and l.begun_by is distinct from excluded.begun_by)::int,
        begun_by = case l.status when 'settled' then l.begun_by else excluded.begun_by end,
        args_digest = coalesce(l.args_digest, excluded.args_digest),
        started_at = coalesce(l.started_at, excluded.started_at)
      returning l.*
  )
  select w.n::int, b.status,
    case b.status when 'settled' then b.response end,
    b.failed, case b.status when 'settled' then b.actions end::json,
    b.attempts, b.failures, b.attempts - 1 > b.ended,
    case b.status when 'settled' then null else b.once end::json,
    case when w.want_args and b.status <> 'settled' then b.args end
  from begun b join wanted w on w.session_id = b.session_id and w.key = b.key;
end $$;

-- What the calls of a run share. The message that started its invocation is read only where it is wanted.
create function holdfast.run_contexts_1(sessions text[], runs text[], want_content boolean[])
returns table (n int, app text, user_id text, name text, invocation_id text, content json, state text)
language plpgsql stable as $$
#variable_conflict use_column
begin
  return query select u.n::int, s.app, s.user_id, s.name, r.invocation_id,
    case when u.want_content then (
      select e.body -> 'content' from holdfast.runs o
      join holdfast.events e on e.session_id = s.id and e.seq = o.message_seq
      where o.session_id = s.id and o.run_key = r.invocation_id) end,
    holdfast.state_of_1(s, s.state, r.invocation_id)::text
  from unnest(sessions, runs, want_content) with ordinality u (session_id, run_key, want_content, n)
  join holdfast.sessions s on s.id = u.session_id
  join holdfast.runs r on r.session_id = u.session_id and r.run_key = u.run_key;
end $$;

-- The first outcome wins; any other is answered with it.
create function holdfast.settle_calls_1(
  sessions text[], keys text[], runs text[], steps int[], indexes int[], responses json, failures boolean[],
  call_actions json, stacks text[], tokens uuid[]
) returns table (n int, first boolean, tool text, response json, failed boolean, actions json)
language plpgsql as $$
#variable_conflict use_column
begin
  return query with wanted as (
    select u.* from rows from (
        unnest(sessions, keys, runs, steps, indexes, failures, stacks, tokens),
        json_array_elements(responses), json_array_elements(call_actions)
      ) with ordinality u (session_id, key, run_key, step, idx, failed, stack, token, response, actions, n)
    where exists (select from holdfast.runs r where r.session_id = u.session_id and r.run_key = u.run_key)
  ), settled as (
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, response,
        failed, actions, stack, settled_by, settled_at)
      select w.session_id, w.key, 'call', w.run_key, w.step, w.idx, p.call_id, p.tool, 'settled', w.response,
        w.failed, w.actions::jsonb, w.stack, w.token, clock_timestamp()
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
        stack = case l.status when 'settled' then l.stack else excluded.stack end,
        settled_by = case l.status when 'settled' then l.settled_by else excluded.settled_by end,
        settled_at = case l.status when 'settled' then l.settled_at else excluded.settled_at end
      returning l.*
  )
  select w.n::int, d.settled_by is not distinct from w.token, d.tool,
    case when d.settled_by is distinct from w.token then d.response end, d.failed,
    case when d.settled_by is distinct from w.token then d.actions end::json
  from settled d join wanted w on w.session_id = d.session_id and w.key = d.key;
end $$;

-- A failure can't be counted more often than there were attempts, so that repeating this changes nothing.
create function holdfast.record_failure_1(session text, of_key text, error text, counts boolean) returns int
language plpgsql as $$
declare
  counted int;
begin
  update holdfast.ledger l set ended = least(l.ended + 1, l.attempts), last_error = error,
    failures = least(l.failures + counts::int, l.attempts)
  where l.session_id = session and l.key = of_key
  returning l.failures into counted;
  return counted;
end $$;

create function holdfast.record_once_1(session text, of_key text, name text, value jsonb) returns json
language plpgsql as $$
declare
  kept json;
begin
  update holdfast.ledger l set once = jsonb_build_object(name, value) || coalesce(l.once, '{}')
  where l.session_id = session and l.key = of_key
  returning (l.once -> name)::json into kept;
  return kept;
end $$;

create function holdfast.events_of_1(session text, after bigint, at_most int) returns json
language plpgsql stable as $$
begin
  return (select json_agg(json_build_array(e.seq, e.kind, e.run_key, e.step, e.id,
    floor(extract(epoch from e.created_at) * 1000)::bigint, e.body))
  from (
    select * from holdfast.events where session_id = session and seq > after order by seq limit at_most
  ) e);
end $$;
`;
