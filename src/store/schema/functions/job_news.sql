-- What followers are told of jobs.
create or replace function holdfast.job_news(session text, jobs text[]) returns json language sql stable as $$
  select json_agg(json_build_object('runKey', j.run_key, 'callKey', j.call_key, 'tool', j.tool, 'jobId', j.job_id,
    'status', j.status, 'mode', j.mode, 'progress', j.progress) order by j.job_id)
  from unnest(jobs) u (job)
  cross join lateral (select * from holdfast.jobs t where t.job_id = u.job offset 0) j
  where j.session_id = session
$$;
