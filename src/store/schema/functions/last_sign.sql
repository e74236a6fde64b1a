-- When somebody last worked on a run, as far as the store knows.
create or replace function holdfast.last_sign(r holdfast.runs, newest holdfast.ledger) returns timestamptz
language plpgsql stable as $$
declare
  sign timestamptz := greatest(r.created_at, newest.started_at, newest.settled_at);
  of_call timestamptz;
begin
  for n in 1 .. coalesce(cardinality(newest.call_keys), 0) loop
    select greatest(l.started_at, l.settled_at) into of_call
      from holdfast.ledger l where l.session_id = r.session_id and l.key = newest.call_keys[n];
    sign := greatest(sign, of_call);
  end loop;
  return sign;
end $$;
