-- Who is to be told of what a message has said.
create or replace function holdfast.told_jobs(session text, invocation text, content json) returns json language sql stable as $$
  select json_agg(json_build_object('jobId', j.job_id, 'ended', coalesce(j.ended_by = 'message', false),
    'address', holdfast.job_address(j)) order by j.job_id)
  from (select distinct p.of_job from holdfast.parts_of_jobs(session, content) p where p.of_job is not null) t
  join holdfast.jobs j on j.job_id = t.of_job and j.session_id = session
  where j.said_by = invocation
$$;
