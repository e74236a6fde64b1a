-- Ends what other invocations left running.
create or replace function holdfast.heal(inout s holdfast.sessions, invocation text) language plpgsql as $$
declare
  broken text[] := array(
    select t.run_key from holdfast.runs t
    where t.session_id = s.id and t.status = 'running' and t.invocation_id <> invocation
    order by t.first_seq, t.run_key);
  below text[] := array(
    select t.session_id from (select * from holdfast.runs a where a.caller_session = s.id offset 0) t
    where t.status = 'running' and t.caller_invocation <> invocation order by t.session_id);
begin
  if broken <> '{}' or below <> '{}' then
    s := holdfast.interrupt_runs(s, broken, below);
  end if;
end $$;

-- Calls of a step that have no outcome get what their jobs have come to, or an error: the end of their turn cuts them off.
create or replace function holdfast.settle_open_calls(planned holdfast.ledger, error text) returns void language plpgsql as $$
declare
  closed text[];
begin
  with written as (
    insert into holdfast.ledger as l
      (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at, cut_off)
    select planned.session_id, c.key, 'call', planned.run_key, planned.step, (c.n - 1)::int, c.call_id, c.tool, 'settled',
      coalesce(o.response, json_build_object('error', error)), coalesce(o.failed, true), '{}', clock_timestamp(), true
    from unnest(planned.call_keys, planned.call_ids, planned.call_tools) with ordinality c (key, call_id, tool, n)
    cross join lateral holdfast.outcome_of_call(planned.session_id, c.key) o
    order by c.key
    on conflict on constraint ledger_pkey do update set
      status = 'settled', response = excluded.response, failed = excluded.failed,
      actions = holdfast.kept_actions(l.prepared), settled_at = excluded.settled_at, cut_off = true
      where l.status <> 'settled'
    returning l.key
  ) select array_agg(w.key) into closed from written w;
  if closed is not null then
    -- Of this moment: a job that was begun meanwhile had the call's row.
    perform holdfast.cut_off_jobs(planned.session_id, closed);
  end if;
end $$;

-- Ends runs of a session as interrupted, those of agents that their calls have run before them: open calls get a response
-- that says so, and requests are cancelled.
create or replace function holdfast.interrupt_runs(inout s holdfast.sessions, broken text[], below text[]) language plpgsql as $$
declare
  r holdfast.runs;
  one text;
  newest holdfast.ledger;
  last_sign timestamptz;
begin
  foreach one in array below loop
    perform holdfast.end_called(one);
  end loop;
  if below <> '{}' then
    select t.model_calls, t.prompt_tokens, t.output_tokens, t.total_tokens, t.cost, t.unknown_calls
      into s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls
      from holdfast.sessions t where t.id = s.id;
  end if;
  -- All are counted before the first outcome is written: a child's calls are its invocation's too.
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    newest := holdfast.newest_step(s.id, r.run_key, r.step);
    s := holdfast.count_unknown(s, r, newest);
    last_sign := greatest(last_sign, holdfast.last_sign(r, newest));
  end loop;
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    s := holdfast.append_last_responses(s, r, holdfast.newest_step(s.id, r.run_key, r.step), null, null);
    if r.run_key = r.invocation_id then
      -- It was not worked on between the last sign of life and now.
      s.busy_ms := s.busy_ms + holdfast.ms_between(r.created_at, last_sign);
    end if;
    perform holdfast.cancel_requests(s.id, r.invocation_id, r.run_key, null);
    update holdfast.runs t set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = ('{"status":"interrupted","usage":' || holdfast.used_by(s.id, r.invocation_id) || '}')::json
      where t.session_id = s.id and t.run_key = r.run_key;
  end loop;
end $$;

-- Ends runs of a session that have ended without a word, and what they have left running. Those of a newer chain go on.
create or replace function holdfast.end_lost_runs(session text, lost text[], started_at bigint, number int) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  broken text[];
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  broken := array(
    with recursive gone as (
      select t.run_key, t.first_seq from holdfast.runs t where t.session_id = session and t.run_key = any (lost)
      union
      select c.run_key, c.first_seq from gone g join holdfast.runs c on c.planned_by = g.run_key and c.session_id = session
    )
    select t.run_key from gone g join holdfast.runs t on t.session_id = session and t.run_key = g.run_key
    where t.status = 'running' and (t.fence_started_at, t.fence_invocation) <= (started_at, number)
    order by t.first_seq, t.run_key);
  if broken = '{}' then
    return;
  end if;
  s := holdfast.interrupt_runs(s, broken, array(
    select t.session_id from (select * from holdfast.runs a where a.caller_session = session offset 0) t
    where t.status = 'running' and t.caller_run = any (broken) order by t.session_id));
  perform holdfast.save_session(s);
end $$;

-- Jobs of calls that were settled without them end as the calls have: nobody waits for them any more.
create or replace function holdfast.cut_off_jobs(session text, keys text[]) returns void language plpgsql as $$
declare
  c record;
  l record;
begin
  for c in
    select t.job_id, t.call_key from holdfast.jobs_of_calls(session, keys) t where t.status = 'running' order by t.job_id
  loop
    select t.response, t.failed into l from holdfast.ledger t where t.session_id = session and t.key = c.call_key;
    update holdfast.jobs j set status = 'cancelled', ended_by = 'turn', ended_at = holdfast.now_ms(),
        response = l.response, failed = l.failed
      where j.job_id = c.job_id and j.session_id = session and j.status = 'running';
    if found then
      perform set_config('holdfast.cut_off_jobs',
        concat_ws(' ', nullif(current_setting('holdfast.cut_off_jobs', true), ''), c.job_id), true);
    end if;
  end loop;
end $$;

-- Calls of a step that the end of a turn has cut off, and whose jobs have no outcome of their own.
create or replace function holdfast.calls_cut_off(session text, step_key text) returns json language plpgsql stable as $$
declare
  keys text[] := (select t.call_keys from holdfast.ledger t where t.session_id = session and t.key = step_key);
begin
  return (
    select json_agg(json_build_array(j.call_key, j.call_id) order by j.job_id)
    from holdfast.jobs_of_calls(session, keys) j
    where j.status in ('cancelled', 'timed_out') and (
      select t.cut_off from holdfast.ledger t where t.session_id = session and t.key = j.call_key));
end $$;

-- Jobs that this transaction has ended by cutting off their calls.
create or replace function holdfast.cut_off_now() returns text[] language sql volatile as $$
  select string_to_array(nullif(current_setting('holdfast.cut_off_jobs', true), ''), ' ')
$$;

-- The response of a call that has no outcome of its own.
create or replace function holdfast.cut_off_text() returns text language sql immutable as $$
  select 'this call was cut off by the end of its turn; it may have run'
$$;
