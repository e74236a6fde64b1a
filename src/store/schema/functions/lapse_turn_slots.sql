-- Looks at each slot once in ten minutes at most: its turn has worked when it was taken.
create or replace function holdfast.lapse_turn_slots(of_app text) returns void language plpgsql as $$
declare
  slot record;
  r holdfast.runs;
  sign timestamptz;
  oldest timestamptz := clock_timestamp() - interval '10 minutes';
begin
  for slot in
    select t.name_key, t.invocation_id, s.id as session_id
    from holdfast.turn_slots t left join holdfast.sessions s on s.name_key = t.name_key
    where t.app_key = of_app and not t.lapsed and t.seen_at < oldest
  loop
    select * into r from holdfast.runs t
      where t.session_id = slot.session_id and t.run_key = slot.invocation_id and t.status = 'running';
    if not found then
      delete from holdfast.turn_slots t where t.name_key = slot.name_key;
      continue;
    end if;
    sign := holdfast.last_sign(r, holdfast.newest_step(r.session_id, r.run_key, r.step));
    update holdfast.turn_slots t set seen_at = greatest(t.seen_at, sign), lapsed = sign < oldest
      where t.name_key = slot.name_key;
  end loop;
end $$;
