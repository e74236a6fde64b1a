-- From now on the job has an end of its own: its call is settled by what is known meanwhile.
create or replace function holdfast.detach_job(session text, job text, intermediate json) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  detaches boolean;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    perform holdfast.no_job(job);
  end if;
  detaches := j.status = 'running' and j.mode <> 'detached';
  if detaches then
    update holdfast.jobs t set mode = 'detached', intermediate = intermediate
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', detaches, 'of', holdfast.job(j));
end $$;
