-- Gapless, so that what is missing at the start is a parent's; a session without one costs nothing more.
create or replace function holdfast.events_of(session text, after bigint, at_most bigint) returns json
language plpgsql stable as $$
declare
  own json;
  first bigint;
  part record;
  found json[] := '{}';
begin
  select json_agg(holdfast.event_row(e)), min(e.seq) into own, first
  from (
    select * from holdfast.events where session_id = session and seq > after order by seq limit at_most
  ) e;
  if first = after + 1
      or not exists (select from holdfast.sessions s where s.id = session and s.parent_seq > after) then
    return own;
  end if;
  for part in select l.of_session, l.up_to from holdfast.lineage(session, null)
      with ordinality l (of_session, up_to, n) order by l.n desc loop
    found := found || array(select holdfast.event_row(e) from (
      select * from holdfast.events t
      where t.session_id = part.of_session and t.seq > after and t.seq <= part.up_to
      order by t.seq limit at_most - cardinality(found)
    ) e);
  end loop;
  return array_to_json(found);
end $$;
