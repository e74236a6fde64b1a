-- An attempt fails once, however often that is told. Without a number it is the newest one.
create or replace function holdfast.record_failure(session text, of_key text, error text, counts boolean, attempt int) returns int
language plpgsql as $$
#variable_conflict use_variable
declare
  failed record;
begin
  select l.attempts, l.failures, l.ended_attempts into failed
    from holdfast.ledger l where l.session_id = session and l.key = of_key for update;
  attempt := least(attempt, failed.attempts);
  if failed.attempts is null or attempt < 1 or failed.ended_attempts @> attempt then
    return failed.failures;
  end if;
  update holdfast.ledger l set ended = l.ended + 1, failures = l.failures + counts::int, last_error = error,
    ended_attempts = coalesce(l.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
  where l.session_id = session and l.key = of_key;
  return failed.failures + counts::int;
end $$;
