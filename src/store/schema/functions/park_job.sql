-- Ends an attempt that leaves its call to the job. Null where the attempt doesn't count any more.
create or replace function holdfast.park_job(session text, job text, attempt int, intermediate json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  parks boolean;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    perform holdfast.no_job(job);
  end if;
  if not holdfast.end_attempt(session, j.run_key, j.call_key, attempt) then
    return null;
  end if;
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  parks := j.status = 'running' and j.mode = 'started';
  if parks then
    update holdfast.jobs t set mode = 'parked', intermediate = coalesce(intermediate, t.intermediate)
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', parks, 'of', holdfast.job(j));
end $$;
