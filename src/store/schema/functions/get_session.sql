-- A session with its newest events behind a seq that came at a time, milliseconds since the epoch, or after it. Null where there
-- is none.
create or replace function holdfast.get_session(of_name text, after bigint, since double precision, at_most bigint) returns json
language plpgsql stable as $$
declare
  s record;
  part record;
  found json[] := '{}';
begin
  select t.id, t.app_key, t.user_key, t.last_seq, t.state into s from holdfast.sessions t where t.name_key = of_name;
  if s.id is null then
    return null;
  end if;
  for part in select l.of_session, l.up_to from holdfast.lineage(s.id, s.last_seq) l loop
    exit when part.up_to <= after or cardinality(found) >= at_most;
    found := array(select holdfast.event_row(e) from (
      select * from holdfast.events t
      where t.session_id = part.of_session and t.seq > after and t.seq <= part.up_to
        and (since is null or floor(extract(epoch from t.created_at) * 1000) >= since)
      order by t.seq desc limit at_most - cardinality(found)
    ) e order by e.seq) || found;
  end loop;
  return json_build_object('summary', holdfast.summary(s.id),
    'state', holdfast.state_parts(s.state, s.app_key, s.user_key, null),
    'events', array_to_json(found));
end $$;
