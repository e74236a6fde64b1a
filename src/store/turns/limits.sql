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

-- A turn that ends gives back its slot.
create or replace function holdfast.free_turn_slot() returns trigger language plpgsql as $$
begin
  delete from holdfast.turn_slots t using holdfast.sessions s
    where s.id = new.session_id and t.name_key = s.name_key and t.invocation_id = new.invocation_id;
  return null;
end $$;
create or replace trigger runs_end after update of status on holdfast.runs for each row
  when (old.status = 'running' and new.status <> 'running') execute function holdfast.free_turn_slot();

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

-- Milliseconds for which the model rests from now on. Requests that were under way when a limit began are refused as well:
-- they make it no longer, unless the provider says so.
create or replace function holdfast.limit_model(of_key text, named_ms bigint, longest_ms bigint) returns bigint
language plpgsql as $$
declare
  l holdfast.model_limits;
  at timestamptz;
  new_refusals int := 1;
  new_until timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.model_limits ' || of_key, 0));
  select * into l from holdfast.model_limits t where t.key = of_key;
  at := clock_timestamp();
  if l.until > at then
    new_refusals := l.refusals;
    new_until := greatest(l.until, at + coalesce(named_ms, 0) * interval '1 millisecond');
  else
    if l.until > at - interval '10 minutes' then
      new_refusals := least(l.refusals + 1, 30);
    end if;
    new_until := at + coalesce(named_ms, least(1000 * 2 ^ (new_refusals - 1), longest_ms)) * interval '1 millisecond';
  end if;
  insert into holdfast.model_limits as t (key, until, refusals) values (of_key, new_until, new_refusals)
    on conflict (key) do update set until = excluded.until, refusals = excluded.refusals;
  return ceil(extract(epoch from new_until - at) * 1000);
end $$;

-- Milliseconds by key; 0 where the wait is over and no answer has come since.
create or replace function holdfast.resting_models() returns json language plpgsql volatile as $$
declare
  at timestamptz := clock_timestamp();
begin
  return (
    select json_object_agg(l.key, greatest(ceil(extract(epoch from l.until - at) * 1000), 0))
    from holdfast.model_limits l
    where l.until > at or l.refusals > 0 and l.until > at - interval '10 minutes'
  );
end $$;
