import { EVENT_ROW } from './event-row.ts';

/** Sessions as people and programs handle them: made, read, forked, deleted. */
export const sessions = `
-- A session and those that it was forked from, the newest first, each with the last seq that counts. Without a seq: all.
create function holdfast.lineage_1(session text, at_seq bigint) returns table (of_session text, up_to bigint)
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

-- Events that no rewind up to the seq hides.
create function holdfast.visible_1(session text, at_seq bigint)
returns table (seq bigint, kind text, invocation_id text, run_key text, step int, author text)
language plpgsql stable as $$
begin
  return query
    select v.seq, v.kind, v.invocation_id, v.run_key, v.step, v.author from (
      select e.*, min(e.hides_after) over (order by e.seq desc) as hides_after_all
      from holdfast.lineage_1(session, at_seq) l
      cross join lateral (
        select t.seq, t.kind, t.invocation_id, t.run_key, t.step, t.author, t.hides_after
        from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
      ) e
    ) v
    where v.hides_after_all is null or v.seq <= v.hides_after_all;
end $$;

create function holdfast.last_agent_1(session text, at_seq bigint) returns text language plpgsql stable as $$
begin
  return (
    select v.author from holdfast.visible_1(session, at_seq) v
    where v.kind = 'model' and v.run_key = v.invocation_id order by v.seq desc limit 1
  );
end $$;

-- A session's own state as it was at a seq. What a rewind hides isn't skipped: its marker carries what it restores.
create function holdfast.state_at_1(session text, at_seq bigint) returns jsonb language plpgsql stable as $$
begin
  return (select s.initial from holdfast.sessions s where s.id = session) || coalesce((
    select jsonb_object_agg(d.key, d.value::jsonb order by e.seq)
    from holdfast.lineage_1(session, at_seq) l
    cross join lateral (
      select t.seq, t.body #> '{actions,stateDelta}' as delta
      from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
    ) e
    cross join lateral json_each(case when json_typeof(e.delta) = 'object' then e.delta end) d
    where d.key !~ '^(app|user|temp):'
  ), '{}');
end $$;

-- The hash is of the text [hash before, session, n, at, kind, facts] in canonical JSON.
create function holdfast.audit_1(session text, kind text, facts json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  before record;
  now timestamptz := date_trunc('milliseconds', clock_timestamp());
  number int;
begin
  select a.n, a.hash into before from holdfast.audit a where a.session_id = session order by a.n desc limit 1;
  number := coalesce(before.n, 0) + 1;
  insert into holdfast.audit (session_id, n, at, kind, facts, hash)
    values (session, number, now, kind, facts, encode(sha256(convert_to(
      '[' || to_json(coalesce(before.hash, '')) || ',' || to_json(session) || ',' || number
        || ',' || (extract(epoch from now) * 1000)::bigint || ',' || to_json(kind) || ',{'
        || coalesce((
          select string_agg(to_json(f.key)::text || ':' || f.value, ',' order by f.key collate "C") from json_each(facts) f
        ), '') || '}]', 'UTF8')), 'hex'));
end $$;

-- Takes no row: to pass one, PostgreSQL would read its states, which can be large.
create function holdfast.summary_1(session text) returns json language plpgsql stable as $$
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

create function holdfast.get_session_1(name_key text, after bigint, since double precision, at_most bigint) returns json
language plpgsql stable as $$
#variable_conflict use_variable
declare
  s record;
  part record;
  found json[] := '{}';
begin
  select t.id, t.app_key, t.user_key, t.last_seq, t.state into s from holdfast.sessions t where t.name_key = name_key;
  if s.id is null then
    return null;
  end if;
  for part in select l.of_session, l.up_to from holdfast.lineage_1(s.id, s.last_seq) l loop
    exit when part.up_to <= after or cardinality(found) >= at_most;
    found := array(select ${EVENT_ROW} from (
      select * from holdfast.events t
      where t.session_id = part.of_session and t.seq > after and t.seq <= part.up_to
        and (since is null or floor(extract(epoch from t.created_at) * 1000) >= since)
      order by t.seq desc limit at_most - cardinality(found)
    ) e order by e.seq) || found;
  end loop;
  return json_build_object('summary', holdfast.summary_1(s.id),
    'state', json_build_array(s.state,
      array(select json_build_array('app:' || a.key, a.value) from holdfast.app_state a where a.app_key = s.app_key),
      array(select json_build_array('user:' || u.key, u.value) from holdfast.user_state u
        where u.user_key = s.user_key),
      null),
    'events', array_to_json(found));
end $$;

-- Null where another session has the name.
create function holdfast.create_session_1(session text, name_key text, app_key text, user_key text, app text,
  user_id text, name text, delta jsonb) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
begin
  insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
    values (session, name_key, app_key, user_key, app, user_id, name)
    on conflict do nothing
    returning * into s;
  if s.id is not null then
    s.state := holdfast.apply_delta_1(s, '', delta);
    if s.state <> '{}' then
      update holdfast.sessions t set state = s.state, initial = s.state where t.id = session;
    end if;
    perform holdfast.audit_1(session, 'created', '{}');
  elsif not exists (select from holdfast.sessions t where t.id = session) then
    return null;
  end if;
  return holdfast.get_session_1(name_key, 0, null, 0);
end $$;

-- The fork is read by another statement: the parent stays locked for as long as this one takes.
create function holdfast.fork_session_1(parent_key text, at_seq bigint, session text, name_key text, name text)
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
    state := holdfast.state_at_1(p.id, at_seq);
    agent := holdfast.last_agent_1(p.id, at_seq);
  end if;
  perform from holdfast.sessions t where t.id = p.id for key share;
  if not found then
    return json_build_object('problem', 'no session');
  end if;
  insert into holdfast.sessions (id, name_key, app_key, user_key, app, user_id, name, last_seq, state, last_agent,
      parent_id, parent_seq, initial)
    values (session, name_key, p.app_key, p.user_key, p.app, p.user_id, name, at_seq, state, agent,
      p.id, at_seq, p.initial)
    on conflict do nothing;
  if found then
    perform holdfast.audit_1(session, 'forked', json_build_object('from', p.id, 'seq', at_seq));
  elsif not exists (select from holdfast.sessions t where t.id = session) then
    return json_build_object('problem', 'exists');
  end if;
  return json_build_object('session', session);
end $$;

-- Parents are locked before their forks are looked for: a fork that is being made is found, or finds no parent. Only a
-- known session is deleted: the statement may be repeated when another has been made under the name.
create function holdfast.delete_session_1(name_key text, known text[], with_forks boolean, idle_since timestamptz)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  doomed text[];
  level text[];
  one text;
  names json;
  events bigint;
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
  foreach one in array coalesce(doomed, '{}') loop
    delete from holdfast.events t where t.session_id = one;
    get diagnostics events = row_count;
    delete from holdfast.ledger t where t.session_id = one;
    delete from holdfast.runs t where t.session_id = one;
    delete from holdfast.inbox t where t.session_id = one;
    delete from holdfast.sessions t where t.id = one;
    perform holdfast.audit_1(one, 'deleted', json_build_object('events', events));
  end loop;
  return json_build_object('deleted', coalesce(names, '[]'));
end $$;
`;
