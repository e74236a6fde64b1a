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
  -- A turn that was left open would else be answered behind it.
  s := holdfast.heal(s, '');
  s.last_seq := s.last_seq + 1;
  s.state := s.state || holdfast.apply_delta(s, '', coalesce(a.delta, '{}'));
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (s.id, s.last_seq, a.event_id, a.run_key, a.run_key, 0, a.kind, a.author, a.branch, a.body, a.dedupe_key)
    returning holdfast.event_row(e) into event;
  perform holdfast.save_session(s);
  return json_build_object('session', s.id, 'event', event);
end $$;
