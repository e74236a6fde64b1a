-- Null where the turn may run, else how many run of its app and of its user.
create or replace function holdfast.take_turn_slot(of_name text, of_app text, of_user text, invocation text,
  per_app int, per_user int) returns json language plpgsql as $$
declare
  held holdfast.turn_slots;
  is_under_way boolean;
  of_this_app int;
  of_this_user int;
begin
  -- One after another within an app: each sees what the others have taken.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.turn_slots ' || of_app, 0));
  if exists (
    select from holdfast.sessions s join holdfast.runs r on r.session_id = s.id and r.run_key = invocation
    where s.name_key = of_name and r.status <> 'running'
  ) then
    -- It is answered with what was recorded.
    return null;
  end if;
  select * into held from holdfast.turn_slots t where t.name_key = of_name;
  is_under_way := coalesce(held.invocation_id = invocation, false);
  if not coalesce(held.lapsed, true) then
    if not is_under_way then
      update holdfast.turn_slots t set invocation_id = invocation, seen_at = clock_timestamp() where t.name_key = of_name;
    end if;
    return null;
  end if;
  for looked in 1 .. 2 loop
    select count(*) into of_this_app from holdfast.turn_slots t where t.app_key = of_app and not t.lapsed;
    select count(*) into of_this_user from holdfast.turn_slots t where t.user_key = of_user and not t.lapsed;
    if of_this_app < coalesce(per_app, of_this_app + 1) and of_this_user < coalesce(per_user, of_this_user + 1) then
      insert into holdfast.turn_slots as t (name_key, app_key, user_key, invocation_id)
        values (of_name, of_app, of_user, invocation)
        on conflict (name_key) do update
          set invocation_id = excluded.invocation_id, seen_at = excluded.seen_at, lapsed = false;
      return null;
    end if;
    if looked = 1 then
      perform holdfast.lapse_turn_slots(of_app);
    end if;
  end loop;
  if is_under_way then
    return null;
  end if;
  return json_build_object('app', of_this_app, 'user', of_this_user);
end $$;
