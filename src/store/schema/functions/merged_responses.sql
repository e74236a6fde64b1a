-- What the calls of a step merge into: the event's body, and the state delta that it stands for, `temp:` included. A call
-- without an id is code that the model wrote.
create or replace function holdfast.merged_responses(planned holdfast.ledger, invocation text, out delta jsonb, out body json)
language plpgsql stable as $$
declare
  answered record;
  merged text[] := '{}';
  of_calls jsonb[] := '{}';
  unsettled text[] := '{}';
  actions jsonb;
  actions_text text := '{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}';
begin
  -- One look-up per call: a join may read all rows of the session.
  for n in 1 .. cardinality(planned.call_keys) loop
    select l.status, l.response, l.actions, l.parts, l.will_continue into answered
      from holdfast.ledger l where l.session_id = planned.session_id and l.key = planned.call_keys[n];
    if answered.status is distinct from 'settled' then
      unsettled := unsettled || planned.call_keys[n];
      continue;
    end if;
    if planned.call_ids[n] <> '' then
      merged := merged || ('{"functionResponse":{"id":' || to_json(planned.call_ids[n])
        || ',"name":' || to_json(planned.call_tools[n]) || ',"response":' || answered.response
        || case when answered.will_continue then ',"willContinue":true' else '' end || '}}');
    else
      merged := merged || ('{"codeExecutionResult":' || case
        when answered.response ->> 'outcome' is not null then answered.response
        else json_build_object('outcome', 'OUTCOME_FAILED',
          'output', coalesce(answered.response ->> 'error', answered.response::text))
      end || '}');
    end if;
    if answered.parts is not null then
      merged := merged || array(select p.value::text from json_array_elements(answered.parts) p);
    end if;
    if answered.actions <> '{}' then
      of_calls := of_calls || answered.actions;
    end if;
  end loop;
  if unsettled <> '{}' then
    raise exception using errcode = 'HF002',
      message = 'calls without an outcome: ' || array_to_string(unsettled, ', ');
  end if;
  delta := '{}';
  if of_calls <> '{}' then
    actions := holdfast.merged_actions(of_calls);
    delta := actions -> 'stateDelta';
    actions_text := actions || jsonb_build_object(
      'stateDelta', (select coalesce(jsonb_object_agg(d.key, d.value), '{}')
        from jsonb_each(delta) d where d.key not like 'temp:%'),
      'requestedAuthConfigs', '{}'::jsonb, 'requestedToolConfirmations', '{}'::jsonb);
  end if;
  body := ('{"invocationId":' || to_json(invocation) || ',"author":' || to_json(planned.agent)
    || coalesce(',"branch":' || to_json(planned.branch), '')
    || ',"content":{"role":"user","parts":[' || array_to_string(merged, ',') || ']},"actions":' || actions_text
    || '}')::json;
end $$;
