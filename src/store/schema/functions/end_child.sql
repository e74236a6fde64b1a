-- What the agent of a call has come to. Null where it has never begun.
create or replace function holdfast.end_child(caller text, run text) returns json language plpgsql as $$
declare
  child text := (
    select t.session_id from holdfast.runs t
    where t.caller_session = caller and t.run_key = run and t.invocation_id = run);
  r holdfast.runs;
begin
  if child is null then
    return null;
  end if;
  select * into r from holdfast.runs t where t.session_id = child and t.run_key = run;
  if r.status = 'running' then
    perform holdfast.end_called(child);
    select * into r from holdfast.runs t where t.session_id = child and t.run_key = run;
  end if;
  return (
    select json_build_object('session', s.id, 'outcome', r.outcome,
      'stateDelta', holdfast.difference(s.initial, s.state),
      'content', (
        select e.body -> 'content' from holdfast.events e
        where e.session_id = s.id and e.kind <> 'message' and json_typeof(e.body #> '{content,parts}') = 'array'
          and json_array_length(e.body #> '{content,parts}') > 0
        order by e.seq desc limit 1))
    from holdfast.sessions s where s.id = child);
end $$;
