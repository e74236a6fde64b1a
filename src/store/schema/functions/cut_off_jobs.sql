-- Jobs of calls that were settled without them end as the calls have: nobody waits for them any more.
create or replace function holdfast.cut_off_jobs(session text, keys text[]) returns void language plpgsql as $$
declare
  c record;
  l record;
begin
  for c in
    select t.job_id, t.call_key from holdfast.jobs_of_calls(session, keys) t where t.status = 'running' order by t.job_id
  loop
    select t.response, t.failed into l from holdfast.ledger t where t.session_id = session and t.key = c.call_key;
    update holdfast.jobs j set status = 'cancelled', ended_by = 'turn', ended_at = holdfast.now_ms(),
        response = l.response, failed = l.failed
      where j.job_id = c.job_id and j.session_id = session and j.status = 'running';
    if found then
      perform set_config('holdfast.cut_off_jobs',
        concat_ws(' ', nullif(current_setting('holdfast.cut_off_jobs', true), ''), c.job_id), true);
    end if;
  end loop;
end $$;
