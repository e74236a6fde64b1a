/** A job has exactly the time that its tool gives it: `since` and `until` came from two looks at the clock. */
export const jobDeadlines = `
create or replace function holdfast.open_job_1(session text, job text, run text, of_key text, call_id text, tool text,
  agent text, workflow text, workflow_run text, activity text, deadline double precision) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  began boolean := false;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    began := true;
    -- Until is told below, by the row's own since.
    if not holdfast.add_job_1(session, job, run, of_key, call_id, tool, agent, 0, workflow, workflow_run, activity) then
      raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', of_key);
    end if;
    update holdfast.jobs t set until = t.since + deadline::bigint where t.job_id = job and t.session_id = session
      returning t.* into j;
  end if;
  j := holdfast.address_job_1(j, workflow, workflow_run, activity);
  return json_build_object('changed', began, 'of', holdfast.job_1(j));
end $$;
`;
