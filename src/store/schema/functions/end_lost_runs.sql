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
