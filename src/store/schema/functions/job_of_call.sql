-- The newest job of a call of that id, unless a rewind hides the call.
create or replace function holdfast.job_of_call(session text, of_id text) returns text language sql stable as $$
  select j.job_id from (
    select * from holdfast.jobs t
    where hashtextextended(t.call_id, hashtextextended(t.session_id, 0)) = hashtextextended(of_id, hashtextextended(session, 0))
    offset 0
  ) j
  where j.session_id = session and j.call_id = of_id and not j.hidden
  order by j.model_seq desc, j.since desc, j.job_id limit 1
$$;
