-- The job of a call that has begun, as `add_job` makes it; what waits for it is told at the newest address.
create or replace function holdfast.open_job(args json) returns json language plpgsql as $$
declare
  a record;
  j holdfast.jobs;
  began boolean;
begin
  select * into a from json_to_record(args) as t(session text, job_id text, call_key text, workflow_id text,
    workflow_run_id text, activity_id text);
  select * into j from holdfast.jobs t where t.job_id = a.job_id and t.session_id = a.session for update;
  began := not found;
  if began then
    if not holdfast.add_job(args) then
      raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', a.call_key);
    end if;
    select * into j from holdfast.jobs t where t.job_id = a.job_id and t.session_id = a.session for update;
  end if;
  j := holdfast.address_job(j, a.workflow_id, a.workflow_run_id, a.activity_id);
  return json_build_object('changed', began, 'of', holdfast.job(j));
end $$;
