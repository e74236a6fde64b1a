-- Deletes an invocation's row and, where it has the message's content and that is wanted, appends its event. `delta` is
-- null where nothing was appended, `digest` where nobody was told that the message is accepted and none was appended.
create or replace function holdfast.take_message(session text, invocation text, at_seq bigint, event_id uuid, appends boolean,
  out message_id text, out digest text, out asked json, out delta jsonb) language plpgsql as $$
declare
  taken holdfast.inbox;
  kept json;
begin
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id = invocation returning * into taken;
  message_id := taken.message_id;
  if taken.agent is not null or taken.run_config is not null then
    asked := json_build_object('agent', taken.agent, 'runConfig', taken.run_config);
  end if;
  if taken.status = 'waiting' or (taken.status = 'uploaded' and appends) then
    digest := taken.digest;
  end if;
  if not appends or taken.message is null then
    return;
  end if;
  if holdfast.answers_calls(taken.message) then
    taken.message := holdfast.heard(session, invocation, taken.message, at_seq);
  end if;
  select coalesce(json_object_agg(d.key, d.value), '{}') into kept
    from json_each(taken.state_delta) d where d.key not like 'temp:%';
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, dedupe_key)
    values (session, at_seq, event_id, invocation, invocation, 1, 'message', 'user',
      ('{"invocationId":' || to_json(invocation) || ',"author":"user","content":' || taken.message
        || ',"actions":{"stateDelta":' || kept
        || ',"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}')::json,
      'msg:' || invocation);
  delta := coalesce(taken.state_delta::jsonb, '{}');
end $$;
