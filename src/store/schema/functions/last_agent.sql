-- Whoever is named as an event's author: its step knows whose it was.
create or replace function holdfast.last_agent(session text, at_seq bigint) returns text language plpgsql stable as $$
declare
  step_key text;
  acted text;
begin
  for step_key in
    select v.run_key || '.' || v.step from holdfast.visible(session, at_seq) v
    where v.kind in ('model', 'callback', 'error') and v.run_key = v.invocation_id order by v.seq desc
  loop
    select t.agent into acted from holdfast.lineage(session, at_seq) l
      cross join lateral (
        select t.agent from holdfast.ledger t
        where t.session_id = l.of_session and t.key = step_key and t.agent is not null offset 0
      ) t limit 1;
    exit when acted is not null;
  end loop;
  return acted;
end $$;
