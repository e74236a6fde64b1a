-- The step before one that begins, which must have ended.
create or replace function holdfast.step_before(session text, run text, at_step int) returns holdfast.ledger
language plpgsql stable as $$
declare
  before holdfast.ledger;
begin
  select * into before from holdfast.ledger l
    where l.session_id = session and l.key = run || '.' || (at_step - 1) and l.status = 'settled';
  if not found then
    raise exception using errcode = 'HF002', message = format('step %s of run %s is not in the store', at_step - 1, run);
  end if;
  return before;
end $$;
