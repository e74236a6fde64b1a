-- Calls of a step that the end of a turn has cut off, and whose jobs have no outcome of their own.
create or replace function holdfast.calls_cut_off(session text, step_key text) returns json language plpgsql stable as $$
declare
  keys text[] := (select t.call_keys from holdfast.ledger t where t.session_id = session and t.key = step_key);
begin
  return (
    select json_agg(json_build_array(j.call_key, j.call_id) order by j.job_id)
    from holdfast.jobs_of_calls(session, keys) j
    where j.status in ('cancelled', 'timed_out') and (
      select t.cut_off from holdfast.ledger t where t.session_id = session and t.key = j.call_key));
end $$;
