create or replace function holdfast.job_address(j holdfast.jobs) returns json language sql stable as $$
  select case when j.activity_id is not null then
    json_build_object('workflowId', j.workflow_id, 'runId', j.workflow_run_id, 'activityId', j.activity_id) end
$$;
