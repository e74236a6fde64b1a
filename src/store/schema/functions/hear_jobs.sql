-- Jobs end by what a message says of their calls, or have it as an update. With the seq of its event, the session is told by it
-- what they have come to.
create or replace function holdfast.hear_jobs(session text, invocation text, content json, at_seq bigint) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  p record;
  j record;
  response json;
begin
  for p in select t.* from holdfast.parts_of_jobs(session, content) t where t.of_job is not null loop
    select t.status, t.delivered_seq, t.response::jsonb as outcome,
        t.ended_by = 'message' and t.said_by is distinct from invocation as may_change,
        t.ended_by = 'tool' and t.mode = 'started' as is_none into j
      from holdfast.jobs t where t.job_id = p.of_job and t.session_id = session for update;
    response := holdfast.response_of(p.said);
    if j.status = 'running' and p.goes_on then
      update holdfast.jobs t set intermediate = response, heard_at = holdfast.now_ms(), said_by = invocation
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.status = 'running' or j.may_change and not p.goes_on and j.outcome <> response::jsonb then
      update holdfast.jobs t set status = case when response -> 'error' is null then 'completed' else 'failed' end,
          response = response, failed = response -> 'error' is not null, ended_by = 'message', said_by = invocation,
          ended_at = coalesce(t.ended_at, holdfast.now_ms()), delivered_seq = at_seq
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.delivered_seq is null and at_seq is not null and j.is_none is not true then
      update holdfast.jobs t set delivered_seq = at_seq where t.job_id = p.of_job and t.session_id = session;
    end if;
  end loop;
end $$;
