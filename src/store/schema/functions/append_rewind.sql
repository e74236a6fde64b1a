-- Appends the event that hides what came after a seq, and takes the session's own state back to it. Jobs of
-- calls that it hides have nobody to tell.
create or replace function holdfast.append_rewind(s holdfast.sessions, hides_after bigint, marker text, event_id uuid,
  before text, note json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  delta jsonb := holdfast.difference(s.state, holdfast.state_at(s.id, hides_after));
  event json;
begin
  s.last_seq := s.last_seq + 1;
  s.state := s.state || delta;
  s.last_agent := holdfast.last_agent(s.id, hides_after);
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, hides_after, dedupe_key)
    values (s.id, s.last_seq, event_id, marker, marker, 0, 'rewind', 'user',
      ('{"invocationId":' || to_json(marker) || ',"author":"user","actions":{'
        || coalesce('"rewindBeforeInvocationId":' || to_json(before) || ',', '')
        || '"stateDelta":' || delta
        || ',"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}'
        || coalesce(',"customMetadata":' || note, '') || '}')::json,
      hides_after, 'rewind:' || marker)
    returning holdfast.event_row(e) into event;
  perform holdfast.save_session(s);
  update holdfast.jobs j set hidden = true where j.session_id = s.id and j.model_seq > hides_after and not j.hidden;
  return event;
end $$;
