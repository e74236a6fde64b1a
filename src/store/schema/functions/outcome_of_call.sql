-- What a call's job has come to, which is what the call has come to, whatever else ends it. Nobody ends the job meanwhile.
create or replace function holdfast.outcome_of_call(session text, key text, out response json, out failed boolean)
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  for j in select * from holdfast.jobs_of_calls(session, array[key]) loop
    select * into j from holdfast.jobs t where t.job_id = j.job_id and t.session_id = session for update;
    if j.status <> 'running' then
      response := j.response;
      failed := j.failed;
    end if;
  end loop;
end $$;
