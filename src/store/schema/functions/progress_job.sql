-- Null where there is no such job; without a change where it has ended.
create or replace function holdfast.progress_job(job text, progress json, intermediate json, claims json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
  j holdfast.jobs := holdfast.claimed_job(job, claims);
  tells boolean;
begin
  if j.job_id is null then
    return null;
  end if;
  if j.status <> 'running' then
    return json_build_object('changed', false, 'tells', false, 'of', holdfast.job(j));
  end if;
  tells := j.told_at is null or now - j.told_at >= greatest(5000, (now - j.since) / 10);
  update holdfast.jobs t set heard_at = now, told_at = case when tells then now else t.told_at end,
      progress = coalesce((progress::jsonb || jsonb_build_object('at', now))::json, t.progress),
      intermediate = coalesce(intermediate, t.intermediate)
    where t.job_id = job and t.session_id = j.session_id returning * into j;
  return json_build_object('changed', true, 'tells', tells, 'of', holdfast.job(j));
end $$;
