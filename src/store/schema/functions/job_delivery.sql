-- Where the call that began the job isn't settled, it is what tells the session; where it was settled by anything but what was
-- known meanwhile, it has done so.
create or replace function holdfast.job_delivery(session text, job text) returns text language plpgsql stable as $$
declare
  j record;
  l record;
begin
  select t.call_key, t.delivered_seq, t.hidden into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    return 'deleted';
  end if;
  select t.status, t.will_continue into l from holdfast.ledger t where t.session_id = session and t.key = j.call_key;
  return case when j.delivered_seq is not null then 'told' when j.hidden then 'hidden'
    when l.status is distinct from 'settled' then 'open' when l.will_continue then 'due' else 'told' end;
end $$;
