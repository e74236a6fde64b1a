-- A look at a job by its tool, which was not over, or has failed; told again, it is one.
create or replace function holdfast.record_poll(session text, job text, error text, token uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    perform holdfast.no_job(job);
  end if;
  if j.status = 'running' and j.poll_token is distinct from token then
    update holdfast.jobs t set not_yet = t.not_yet + (error is null)::int,
        failed_polls = t.failed_polls + (error is not null)::int,
        failed_in_a_row = case when error is null then 0 else t.failed_in_a_row + 1 end,
        poll_error = coalesce(error, t.poll_error), polled_at = holdfast.now_ms(), poll_token = token
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('of', holdfast.job(j));
end $$;
