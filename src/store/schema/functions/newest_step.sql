-- The last step that a run has opened, looked for around the one that its row names: a chain that took over may have
-- begun again with an earlier one. Its calls are the only ones that can lack responses: a step that has begun has those of
-- the one before it.
create or replace function holdfast.newest_step(session text, run text, around int) returns holdfast.ledger
language plpgsql stable as $$
declare
  newest holdfast.ledger;
  higher holdfast.ledger;
begin
  for n in reverse around .. 1 loop
    select * into newest from holdfast.ledger l where l.session_id = session and l.key = run || '.' || n;
    exit when found;
  end loop;
  while newest.key is not null loop
    select * into higher from holdfast.ledger l
      where l.session_id = session and l.key = run || '.' || (newest.step + 1);
    exit when not found;
    newest := higher;
  end loop;
  return newest;
end $$;
