import { EVENT_ROW } from './event-row.ts';

/** Events that a program writes into a session, between its turns. */
export const appends = `
-- The delta's temp: keys are of no invocation, and are left out. A dedupe key that is known gives back its event.
create function holdfast.append_event_1(name_key text, dedupe text, event_id uuid, event_kind text, run text,
  author text, branch text, body json, delta jsonb) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  event json;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select ${EVENT_ROW} into event from holdfast.events e where e.session_id = s.id and e.dedupe_key = dedupe;
  if event is not null then
    return json_build_object('session', s.id, 'event', event);
  end if;
  -- A turn that was left open would else be answered behind it.
  s := holdfast.heal_1(s, '');
  s.last_seq := s.last_seq + 1;
  s.state := s.state || holdfast.apply_delta_1(s, '', delta);
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (s.id, s.last_seq, event_id, run, run, 0, event_kind, author, branch, body, dedupe)
    returning ${EVENT_ROW} into event;
  perform holdfast.save_session_1(s);
  return json_build_object('session', s.id, 'event', event);
end $$;
`;
