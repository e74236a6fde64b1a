-- The session of a name, locked. It is made of `args` where it is missing; another transaction may make it, or delete it, meanwhile.
create or replace function holdfast.make_session(of_name text, args json) returns holdfast.sessions language plpgsql as $$
declare
  s holdfast.sessions;
begin
  loop
    select * into s from holdfast.sessions t where t.name_key = of_name for update;
    exit when found;
    insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
      select a.session, of_name, a.app_key, a.user_key, a.app, a.user_id, a.name from json_to_record(args)
        as a(session text, app_key text, user_key text, app text, user_id text, name text)
      on conflict on constraint sessions_name_key_key do nothing
      returning * into s;
    exit when found;
  end loop;
  return s;
end $$;

-- Null where another session has the name. One that was made by this call before is there already.
create or replace function holdfast.create_session(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, app_key text, user_key text, app text, user_id text, name text, state jsonb);
  insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
    values (a.session, a.name_key, a.app_key, a.user_key, a.app, a.user_id, a.name)
    on conflict do nothing
    returning * into s;
  if s.id is not null then
    s.state := holdfast.apply_delta(s, '', a.state);
    if s.state <> '{}' then
      update holdfast.sessions t set state = s.state, initial = s.state where t.id = a.session;
    end if;
    perform holdfast.audit(a.session, 'created', '{}');
  elsif not exists (select from holdfast.sessions t where t.id = a.session) then
    return null;
  end if;
  return holdfast.get_session(a.name_key, 0, null, 0);
end $$;

-- A session with its newest events after a seq that came at a time, milliseconds since the epoch, or after it. Null where there
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

-- Takes no row: to pass one, PostgreSQL would read its states, which can be large.
create or replace function holdfast.summary(session text) returns json language plpgsql stable as $$
begin
  return (
    select json_build_object('session', s.id, 'app', s.app, 'userId', s.user_id, 'sessionId', s.name,
      'seq', s.last_seq, 'lastAgent', s.last_agent,
      'createdAt', floor(extract(epoch from s.created_at) * 1000)::bigint,
      'updatedAt', floor(extract(epoch from s.updated_at) * 1000)::bigint,
      'usage', json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls),
      'forkedFrom', case when s.parent_id is not null then (
        select json_build_object('sessionId', p.name, 'seq', s.parent_seq)
        from holdfast.sessions p where p.id = s.parent_id) end)
    from holdfast.sessions s where s.id = session
  );
end $$;

-- Appends an event of no turn. The delta's `temp:` keys are of no invocation, and are left out. A dedupe key that is known
-- gives back its event.
create or replace function holdfast.append_event(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  event json;
begin
  select * into a from json_to_record(args) as t(
    name_key text, dedupe_key text, event_id uuid, kind text, run_key text, author text, branch text, body json, delta jsonb);
  s := holdfast.lock_root(a.name_key);
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select holdfast.event_row(e) into event from holdfast.events e where e.session_id = s.id and e.dedupe_key = a.dedupe_key;
  if event is not null then
    return json_build_object('session', s.id, 'event', event);
  end if;
  -- A turn that was left open would else be answered after it.
  s := holdfast.heal(s, '');
  s.last_seq := s.last_seq + 1;
  s.listed_at := clock_timestamp();
  s.state := s.state || holdfast.apply_delta(s, '', coalesce(a.delta, '{}'));
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (s.id, s.last_seq, a.event_id, a.run_key, a.run_key, 0, a.kind, a.author, a.branch, a.body, a.dedupe_key)
    returning holdfast.event_row(e) into event;
  perform holdfast.save_session(s);
  return json_build_object('session', s.id, 'event', event);
end $$;

-- Writes what a turn changes of a session.
create or replace function holdfast.save_session(s holdfast.sessions) returns void language plpgsql as $$
begin
  update holdfast.sessions set last_seq = s.last_seq, state = s.state, last_agent = s.last_agent,
    fence_started_at = s.fence_started_at, fence_invocation = s.fence_invocation, model_calls = s.model_calls,
    prompt_tokens = s.prompt_tokens, output_tokens = s.output_tokens, total_tokens = s.total_tokens, cost = s.cost,
    unknown_calls = s.unknown_calls, busy_ms = s.busy_ms, updated_at = clock_timestamp(), listed_at = s.listed_at
  where id = s.id;
end $$;

-- One write to a session waits for the other.
create or replace function holdfast.lock_session(session text) returns void language plpgsql as $$
begin
  perform from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
end $$;

-- The session of a name, locked, which must be no agent's that a call has run. Null where there is none.
create or replace function holdfast.lock_root(of_key text) returns holdfast.sessions language plpgsql as $$
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.name_key = holdfast.root_key(of_key) for update;
  return s;
end $$;

-- The key of a session, which must be no agent's that a call has run.
create or replace function holdfast.root_key(of_key text) returns text language plpgsql stable as $$
declare
  called text := (select t.name from holdfast.sessions t where t.name_key = of_key and t.root_session is not null);
begin
  if called is not null then
    raise exception using errcode = 'HF005', message = format(
      'session %s is that of an agent which a tool has run: name the session of its root', called);
  end if;
  return of_key;
end $$;

-- Parents are locked before their forks are looked for: a fork that is being made is found, or finds no parent. Only a
-- known session is deleted: the statement may be repeated when another has been made under the name.
create or replace function holdfast.delete_session(name_key text, known text[], with_forks boolean, idle_since timestamptz)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  doomed text[];
  level text[];
  names json;
begin
  level := array(
    select t.id from holdfast.sessions t where t.name_key = name_key and t.id = any (known) for update
  );
  if exists (select from holdfast.sessions t where t.id = any (level) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  while level <> '{}' loop
    doomed := level || doomed;
    level := array(select f.id from (
      select t.id from holdfast.sessions t where t.parent_id = any (level) order by t.id for update
    ) f);
  end loop;
  names := (
    select json_agg(json_build_object('app', t.app, 'userId', t.user_id, 'sessionId', t.name) order by d.n desc)
    from unnest(doomed) with ordinality d (id, n) join holdfast.sessions t on t.id = d.id
  );
  if cardinality(doomed) > 1 and not with_forks then
    return json_build_object('forks', names);
  end if;
  if exists (select from holdfast.sessions t where t.id = any (doomed) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  delete from holdfast.sessions t where t.id = any (doomed);
  return json_build_object('deleted', coalesce(names, '[]'));
end $$;

-- Deletes all that belongs to a session, sessions of called agents included. Its audit stays without what people gave; signatures stay too.
create or replace function holdfast.forget_session() returns trigger language plpgsql as $$
declare
  events bigint;
begin
  delete from holdfast.events t where t.session_id = old.id;
  get diagnostics events = row_count;
  delete from holdfast.ledger t where t.session_id = old.id;
  delete from holdfast.runs t where t.session_id = old.id;
  delete from holdfast.inbox t where t.session_id = old.id;
  delete from holdfast.approvals t where t.session_id = old.id;
  delete from holdfast.responses t where t.session_id = old.id;
  delete from holdfast.jobs t where t.session_id = old.id;
  delete from holdfast.job_answers t where t.session_id = old.id;
  delete from holdfast.notice_notes t where t.session_id = old.id;
  delete from holdfast.dead_notices t where t.session_id = old.id;
  perform holdfast.delete_artifacts(old.id);
  delete from holdfast.memories t where t.session_id = old.id;
  delete from holdfast.turn_slots t where t.name_key = old.name_key;
  delete from holdfast.channel_threads t where t.name = old.name and t.app = old.app and t.user_id = old.user_id;
  delete from holdfast.sessions t where t.root_session = old.id;
  update holdfast.audit t set content = null, salt = null where t.session_id = old.id and t.content is not null;
  perform holdfast.audit(old.id, 'deleted', json_build_object('events', events));
  return null;
end $$;
create or replace trigger sessions_deleted after delete on holdfast.sessions for each row
  execute function holdfast.forget_session();
