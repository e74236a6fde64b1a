-- An event as readers get it.
create or replace function holdfast.event_row(e holdfast.events) returns json language sql stable as $$
  select json_build_array(e.seq, e.kind, e.run_key, e.step, e.id,
    floor(extract(epoch from e.created_at) * 1000)::bigint, e.body, e.hides_after)
$$;

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

-- A session and those that it was forked from, the newest first, each with the last seq that counts. Without a seq: all.
create or replace function holdfast.lineage(session text, at_seq bigint) returns table (of_session text, up_to bigint)
language plpgsql stable rows 2 as $$
begin
  of_session := session;
  up_to := coalesce(at_seq, 9223372036854775807);
  while of_session is not null loop
    return next;
    select s.parent_id, least(up_to, s.parent_seq) into of_session, up_to
      from holdfast.sessions s where s.id = of_session;
  end loop;
end $$;

-- A turn's invocations: the one that is asked for and all its retries.
create or replace function holdfast.generations(session text, at_seq bigint, invocation text) returns text[]
language plpgsql stable as $$
declare
  first text;
begin
  select r.origin into first
    from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.origin from holdfast.runs t where t.session_id = l.of_session and t.run_key = invocation offset 0
    ) r;
  first := coalesce(first, invocation);
  return first || array(
    select r.run_key from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.run_key from holdfast.runs t where t.session_id = l.of_session and t.origin = first offset 0
    ) r
  );
end $$;

-- Events that no rewind up to the seq hides.
create or replace function holdfast.visible(session text, at_seq bigint)
returns table (seq bigint, kind text, invocation_id text, run_key text, step int, author text)
language plpgsql stable as $$
begin
  return query
    select v.seq, v.kind, v.invocation_id, v.run_key, v.step, v.author from (
      select e.*, min(e.hides_after) over (order by e.seq desc) as hides_after_all
      from holdfast.lineage(session, at_seq) l
      cross join lateral (
        select t.seq, t.kind, t.invocation_id, t.run_key, t.step, t.author, t.hides_after
        from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
      ) e
    ) v
    where v.hides_after_all is null or v.seq <= v.hides_after_all;
end $$;

-- An entry more, without what the person gave, and of the decisions that don't count only the newest.
create or replace function holdfast.history_with(history json, entry json) returns json language plpgsql stable as $$
declare
  longer json := holdfast.list_with(history, '{' || concat_ws(',', '"entryId":' || (entry -> 'entryId'),
    '"kind":' || (entry -> 'kind'), '"at":' || (entry -> 'at'), '"by":' || (entry -> 'by'),
    '"confirmed":' || (entry -> 'confirmed'), '"reason":' || (entry -> 'reason')) || '}');
begin
  if entry ->> 'kind' <> 'refused' then
    return longer;
  end if;
  return (
    select json_agg(h.value order by h.n) from (
      select u.value, u.n, row_number() over (partition by u.value ->> 'kind' = 'refused' order by u.n desc) as nth
      from json_array_elements(longer) with ordinality u (value, n)
    ) h
    where h.value ->> 'kind' <> 'refused' or h.nth <= 20
  );
end $$;

-- The fork is read by another statement: the parent stays locked for as long as this one takes.
create or replace function holdfast.fork_session(parent_key text, at_seq bigint, session text, name_key text, name text)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  p holdfast.sessions;
  state jsonb;
  agent text;
begin
  if exists (select from holdfast.sessions t where t.id = session) then
    return json_build_object('session', session);
  end if;
  select * into p from holdfast.sessions t where t.name_key = parent_key;
  if p.id is null then
    return json_build_object('problem', 'no session');
  end if;
  at_seq := coalesce(at_seq, p.last_seq);
  if at_seq not between 0 and p.last_seq then
    return json_build_object('problem', 'no place', 'last', p.last_seq);
  end if;
  -- Events never change: only the parent's being there needs a lock, and only while the fork is written.
  if at_seq = p.last_seq then
    state := p.state;
    agent := p.last_agent;
  else
    state := holdfast.state_at(p.id, at_seq);
    agent := holdfast.last_agent(p.id, at_seq);
  end if;
  perform from holdfast.sessions t where t.id = p.id for key share;
  if not found then
    return json_build_object('problem', 'no session');
  end if;
  insert into holdfast.sessions (id, name_key, app_key, user_key, app, user_id, name, last_seq, state, last_agent,
      parent_id, parent_seq, remembered_seq, initial)
    values (session, name_key, p.app_key, p.user_key, p.app, p.user_id, name, at_seq, state, agent,
      p.id, at_seq, at_seq, p.initial)
    on conflict do nothing;
  if found then
    perform holdfast.fork_artifacts(p.id, at_seq, session);
    perform holdfast.audit(session, 'forked', json_build_object('from', p.id, 'seq', at_seq));
  elsif not exists (select from holdfast.sessions t where t.id = session) then
    return json_build_object('problem', 'exists');
  end if;
  return json_build_object('session', session);
end $$;

-- Takes a session back to where it was before a turn.
create or replace function holdfast.rewind_session(name_key text, before text, marker text, event_id uuid) returns json
language plpgsql as $$
declare
  s holdfast.sessions;
  event json;
  turn text[];
  first bigint;
begin
  s := holdfast.lock_root(name_key);
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select holdfast.event_row(e) into event from holdfast.events e
    where e.session_id = s.id and e.dedupe_key = 'rewind:' || marker;
  if event is not null then
    return json_build_object('session', s.id, 'event', event);
  end if;
  turn := holdfast.generations(s.id, s.last_seq, before);
  select min(v.seq) into first from holdfast.visible(s.id, s.last_seq) v where v.invocation_id = any (turn);
  if first is null then
    return json_build_object('problem', 'no place', 'invocations', (
      select json_agg(i.id order by i.seq) from (
        select v.invocation_id as id, min(v.seq) as seq from holdfast.visible(s.id, s.last_seq) v
        group by 1 order by 2 desc limit 10
      ) i
    ));
  end if;
  -- A turn that was left open would else be answered after the marker.
  s := holdfast.heal(s, '');
  event := holdfast.append_rewind(s, first - 1, marker, event_id, before, null);
  perform holdfast.audit(s.id, 'rewound',
    json_build_object('seq', s.last_seq + 1, 'hidesAfter', first - 1, 'beforeInvocationId', before));
  return json_build_object('session', s.id, 'event', event);
end $$;

-- Appends the event that hides what came after a seq, and takes the session's own state back to it. Jobs of
-- calls that it hides have nobody to tell.
create or replace function holdfast.append_rewind(s holdfast.sessions, hides_after bigint, marker text, event_id uuid,
  before text, note json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  delta jsonb := holdfast.difference(s.state, holdfast.state_at(s.id, hides_after));
  artifacts jsonb;
  event json;
begin
  s.last_seq := s.last_seq + 1;
  s.listed_at := clock_timestamp();
  artifacts := holdfast.rewind_artifacts(s, hides_after, s.last_seq);
  s.state := s.state || delta;
  s.last_agent := holdfast.last_agent(s.id, hides_after);
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, hides_after, dedupe_key)
    values (s.id, s.last_seq, event_id, marker, marker, 0, 'rewind', 'user',
      ('{"invocationId":' || to_json(marker) || ',"author":"user","actions":{'
        || coalesce('"rewindBeforeInvocationId":' || to_json(before) || ',', '')
        || '"stateDelta":' || delta
        || ',"artifactDelta":' || artifacts || ',"requestedAuthConfigs":{},"requestedToolConfirmations":{}}'
        || coalesce(',"customMetadata":' || note, '') || '}')::json,
      hides_after, 'rewind:' || marker)
    returning holdfast.event_row(e) into event;
  perform holdfast.save_session(s);
  update holdfast.jobs j set hidden = true where j.session_id = s.id and j.model_seq > hides_after and not j.hidden;
  delete from holdfast.memories m where m.session_id = s.id and m.seq > hides_after;
  return event;
end $$;

-- Writes what a state delta has of the app, the user and the invocation, and returns what it has of the session. Keys of `temp:`
-- that are Holdfast's own go no further.
create or replace function holdfast.apply_delta(s holdfast.sessions, invocation text, delta jsonb) returns jsonb
language plpgsql as $$
declare
  own jsonb;
  scratch jsonb;
begin
  select coalesce(jsonb_object_agg(d.key, d.value) filter (where d.key !~ '^(app|user|temp):'), '{}'),
         jsonb_object_agg(d.key, d.value) filter (where d.key like 'temp:%' and d.key !~* '^temp:_?holdfast_')
    into own, scratch from jsonb_each(delta) d;
  insert into holdfast.app_state as a (app_key, key_digest, app, key, value)
    select s.app_key, sha256(convert_to(d.key, 'UTF8')), s.app, substr(d.key, 5), d.value
    from jsonb_each(delta) d where d.key like 'app:%' order by 2
    on conflict (app_key, key_digest) do update set value = excluded.value;
  insert into holdfast.user_state as u (user_key, key_digest, app, user_id, key, value)
    select s.user_key, sha256(convert_to(d.key, 'UTF8')), s.app, s.user_id, substr(d.key, 6), d.value
    from jsonb_each(delta) d where d.key like 'user:%' order by 2
    on conflict (user_key, key_digest) do update set value = excluded.value;
  if scratch is not null then
    update holdfast.runs r set temp = r.temp || scratch
      where r.session_id = s.id and r.run_key = invocation and r.status = 'running';
  end if;
  return own;
end $$;

-- A session's own state as it was at a seq. Events that a rewind hides aren't skipped: its marker carries the state that it restores.
create or replace function holdfast.state_at(session text, at_seq bigint) returns jsonb language plpgsql stable as $$
begin
  return (select s.initial from holdfast.sessions s where s.id = session) || coalesce((
    select jsonb_object_agg(d.key, d.value::jsonb order by e.seq)
    from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.seq, t.body #> '{actions,stateDelta}' as delta
      from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
    ) e
    cross join lateral json_each(case when json_typeof(e.delta) = 'object' then e.delta end) d
    where d.key !~ '^(app|user|temp):'
  ), '{}');
end $$;

-- The session's own state, the app's, the user's, and the turn's `temp:` state, as readers put them together.
create or replace function holdfast.state_parts(own jsonb, of_app text, of_user text, temporary jsonb) returns json
language plpgsql stable as $$
begin
  return json_build_array(own,
    array(select json_build_array('app:' || t.key, t.value) from holdfast.app_state t where t.app_key = of_app),
    array(select json_build_array('user:' || t.key, t.value) from holdfast.user_state t where t.user_key = of_user),
    temporary);
end $$;
