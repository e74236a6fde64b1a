create or replace function holdfast.no_job(job text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF002', message = format('job %s is not in the store', job);
end $$;
