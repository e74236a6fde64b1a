-- What the settled calls of a step do to the state, before the step merges them.
create or replace function holdfast.settled_delta(session text, step_key text) returns json language plpgsql stable as $$
begin
  return (
    select holdfast.merged_actions(array_agg(l.actions order by c.n)) -> 'stateDelta'
    from holdfast.ledger p
    cross join unnest(p.call_keys) with ordinality c (key, n)
    cross join lateral (
      select t.actions from holdfast.ledger t
      where t.session_id = session and t.key = c.key and t.status = 'settled' and t.actions ? 'stateDelta' offset 0
    ) l
    where p.session_id = session and p.key = step_key
  );
end $$;
