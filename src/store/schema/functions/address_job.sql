-- Of a job that has ended nobody needs it.
create or replace function holdfast.address_job(inout j holdfast.jobs, workflow text, workflow_run text, activity text)
language plpgsql as $$
#variable_conflict use_variable
begin
  if j.status = 'running' and (j.workflow_id, j.workflow_run_id, j.activity_id) is distinct from
      (workflow, workflow_run, activity) then
    update holdfast.jobs t set workflow_id = workflow, workflow_run_id = workflow_run, activity_id = activity
      where t.job_id = j.job_id and t.session_id = j.session_id returning * into j;
  end if;
end $$;
