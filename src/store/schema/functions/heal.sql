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
