-- A run that was broken off goes on under a newer fence: what its calls came to has been said already.
create or replace function holdfast.reopen_run(session text, run text, handed_down jsonb) returns holdfast.runs
language plpgsql as $$
declare
  r holdfast.runs;
begin
  update holdfast.runs t set status = 'running', outcome = null, ended_at = null, temp = coalesce(handed_down, '{}') || t.temp
    where t.session_id = session and t.run_key = run
    returning * into r;
  update holdfast.ledger l set call_keys = null, call_ids = null, call_tools = null
    where l.session_id = session and l.kind = 'step' and l.run_key = run and exists (
      select from holdfast.events e where e.dedupe_key = 'responses:' || l.key and e.session_id = session)
      and not exists (
        select from holdfast.ledger n where n.session_id = session and n.key = run || '.' || (l.step + 1));
  return r;
end $$;
