-- Keeps the first value of a name in a call or a step, and returns the one that is kept.
create or replace function holdfast.record_once(session text, of_key text, name text, value jsonb) returns json
language plpgsql as $$
declare
  kept json;
begin
  update holdfast.ledger l set once = jsonb_build_object(name, value) || coalesce(l.once, '{}')
  where l.session_id = session and l.key = of_key
  returning (l.once -> name)::json into kept;
  return kept;
end $$;
