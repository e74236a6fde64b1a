-- Ends an attempt that waits instead of having an outcome. False where it doesn't count any more.
create or replace function holdfast.end_attempt(session text, run text, of_key text, attempt int) returns boolean
language plpgsql as $$
#variable_conflict use_variable
declare
  l record;
  r record;
begin
  select t.status, t.step, t.attempts into l
    from holdfast.ledger t where t.session_id = session and t.key = of_key for update;
  select t.status, t.step into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  if l.status is null or r.status is null then
    raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', of_key);
  end if;
  -- A chain that takes over reads its steps again from the first one: the run's own may be older than the call's.
  if r.status <> 'running' or r.step > l.step or l.status = 'settled' or l.attempts <> attempt then
    return false;
  end if;
  update holdfast.ledger t set ended = t.ended + 1,
      ended_attempts = coalesce(t.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
    where t.session_id = session and t.key = of_key and not coalesce(t.ended_attempts, '{}') @> attempt;
  return true;
end $$;
