-- What waits for a job: the newest address counts. Null where there is no such job.
create or replace function holdfast.await_job(session text, job text, workflow text, workflow_run text, activity text)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    return null;
  end if;
  return json_build_object('of', holdfast.job(holdfast.address_job(j, workflow, workflow_run, activity)));
end $$;
