-- The newest run of the turn that a message told of jobs, where that has ended, and the message said nothing else.
create or replace function holdfast.answered_run(of_name text, message_id text, digest text) returns holdfast.runs
language plpgsql stable as $$
declare
  a holdfast.job_answers;
  r holdfast.runs;
begin
  select t.* into a from holdfast.sessions s
    join holdfast.job_answers t on t.session_id = s.id and t.message_key = sha256(convert_to(message_id, 'UTF8'))
    where s.name_key = of_name;
  if a.session_id is null or a.digest <> digest or a.rest is not null or exists (
      select from holdfast.runs t
      where t.session_id = a.session_id and t.run_key = a.invocation_id and t.status = 'running') then
    return null;
  end if;
  select * into r from holdfast.runs t
    where t.session_id = a.session_id and t.status <> 'running'
      and (t.run_key = a.invocation_id or t.origin = a.invocation_id)
    order by t.generation desc nulls last limit 1;
  return r;
end $$;
