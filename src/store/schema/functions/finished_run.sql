-- The answer to a step whose run has ended. A message is answered with the newest retry of its turn.
create or replace function holdfast.finished_run(r holdfast.runs, inbox json) returns json language plpgsql stable as $$
declare
  latest holdfast.runs;
begin
  select * into latest from holdfast.runs t
    where t.origin = r.run_key and r.run_key = r.invocation_id and t.session_id = r.session_id and t.status <> 'running'
    order by t.generation desc limit 1;
  if found then
    r := latest;
  end if;
  return json_build_object('kind', 'finished', 'session', r.session_id, 'seq', r.last_seq, 'from', r.first_seq,
    'agent', r.agent, 'outcome', r.outcome, 'inbox', inbox);
end $$;
