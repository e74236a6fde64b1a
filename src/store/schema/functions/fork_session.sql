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
      parent_id, parent_seq, initial)
    values (session, name_key, p.app_key, p.user_key, p.app, p.user_id, name, at_seq, state, agent,
      p.id, at_seq, p.initial)
    on conflict do nothing;
  if found then
    perform holdfast.audit(session, 'forked', json_build_object('from', p.id, 'seq', at_seq));
  elsif not exists (select from holdfast.sessions t where t.id = session) then
    return json_build_object('problem', 'exists');
  end if;
  return json_build_object('session', session);
end $$;
