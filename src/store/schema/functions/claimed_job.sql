-- The row of a job; where there is none yet, by what its token claims of the call. Null where there is no such call either.
create or replace function holdfast.claimed_job(job text, claims json) returns holdfast.jobs language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job for update;
  if not found and claims is not null and holdfast.add_job(claims) then
    select * into j from holdfast.jobs t where t.job_id = job for update;
  end if;
  return j;
end $$;
