-- Appends the responses of a step's calls, or the event that is given in their place, and gives back the state delta that
-- they carry and the event as readers get it. A call without an outcome gets the text, or is an error where there is none. A
-- retry's first step stands for a step of another run, and answers the model event of that one.
create or replace function holdfast.append_responses(planned holdfast.ledger, invocation text, at_seq bigint, event_id uuid,
  cut_off text, given json, out delta jsonb, out event json) language plpgsql as $$
declare
  a record;
begin
  if cut_off is not null then
    perform holdfast.settle_open_calls(planned, cut_off);
  end if;
  select planned.agent as author, planned.branch as branch, m.body, m.delta into a
    from holdfast.merged_responses(planned, invocation) m;
  if given is not null then
    select t.author, t.branch, t.body, coalesce(t.delta, '{}') as delta into a
      from json_to_record(given) as t(author text, branch text, body json, delta jsonb);
  end if;
  delta := a.delta;
  update holdfast.artifact_versions v set seq = at_seq
    where v.scope = planned.session_id and v.seq is null
      and (v.session_id <> planned.session_id or v.saved_by = any (planned.call_keys));
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (planned.session_id, at_seq, event_id, invocation, coalesce(planned.of_run, planned.run_key),
    coalesce(planned.of_step, planned.step), 'responses', a.author, a.branch, a.body, 'responses:' || planned.key)
  returning holdfast.event_row(e) into event;
end $$;

-- Appends the responses of a run's newest step, where it has calls, with a text for those that are open.
create or replace function holdfast.append_last_responses(inout s holdfast.sessions, r holdfast.runs, newest holdfast.ledger,
  cut_off text, given json) language plpgsql as $$
declare
  delta jsonb;
begin
  if newest.call_keys is null then
    return;
  end if;
  s.last_seq := s.last_seq + 1;
  select t.delta into delta from holdfast.append_responses(newest, r.invocation_id, s.last_seq, gen_random_uuid(),
    coalesce(cut_off, holdfast.cut_off_text()), given) t;
  if delta <> '{}' then
    s.state := s.state || holdfast.apply_delta(s, r.invocation_id, delta);
  end if;
end $$;

-- The merged calls of a step: the event's body, and the state delta that it stands for, `temp:` included. A call
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
        || case when answered.will_continue then ',"willContinue":true' else '' end || '}'
        || case when answered.actions -> 'trusted' = 'true' then ',"partMetadata":{"holdfast":{"trusted":true}}' else '' end || '}');
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

-- The merged actions of a step's calls, in call order.
create or replace function holdfast.merged_actions(of_calls jsonb[]) returns jsonb
language plpgsql immutable as $$
declare
  actions jsonb;
  delta jsonb := '{}';
  artifacts jsonb := '{}';
  flags jsonb := '{}';
begin
  foreach actions in array coalesce(of_calls, '{}') loop
    if actions ? 'stateDelta' then
      delta := holdfast.merge_deltas(delta, actions -> 'stateDelta', 0);
    end if;
    if actions ? 'artifactDelta' then
      artifacts := artifacts || coalesce((
        select jsonb_object_agg(a.key, greatest(a.value::numeric, (artifacts ->> a.key)::numeric))
        from jsonb_each_text(actions -> 'artifactDelta') a
      ), '{}');
    end if;
    if actions -> 'skipSummarization' = 'true' then
      flags := flags || '{"skipSummarization":true}';
    end if;
    if actions -> 'escalate' = 'true' then
      flags := flags || '{"escalate":true}';
    end if;
    if coalesce(actions ->> 'transferToAgent', '') <> '' then
      flags := flags || jsonb_build_object('transferToAgent', actions -> 'transferToAgent');
    end if;
  end loop;
  return jsonb_build_object('stateDelta', delta, 'artifactDelta', artifacts) || flags;
end $$;

-- State deltas as one, so that shared keys are locked in one order; the last value of a key counts.
create or replace function holdfast.merged_delta(deltas jsonb) returns jsonb language plpgsql immutable as $$
begin
  return coalesce((
    select jsonb_object_agg(k.key, k.value order by d.n)
    from jsonb_array_elements(deltas) with ordinality d (value, n) cross join lateral jsonb_each(d.value) k
  ), '{}');
end $$;

-- Objects merge, anything else is replaced: at 100 levels objects too, since recursion has an end.
create or replace function holdfast.merge_deltas(older jsonb, newer jsonb, level int) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  if level = 100 or jsonb_typeof(older) <> 'object' or jsonb_typeof(newer) <> 'object' then
    return newer;
  end if;
  return older || newer || coalesce((
    select jsonb_object_agg(n.key, holdfast.merge_deltas(older -> n.key, n.value, level + 1))
    from jsonb_each(newer) n
    where jsonb_typeof(n.value) = 'object' and jsonb_typeof(older -> n.key) = 'object'
  ), '{}');
end $$;

-- Without what says how a turn goes on: nobody follows that any more.
create or replace function holdfast.kept_actions(prepared jsonb) returns jsonb language sql immutable as $$
  select coalesce(prepared, '{}') - '{skipSummarization,transferToAgent,escalate}'::text[]
$$;

-- The function response of a message.
create or replace function holdfast.response_of(said json) returns json language sql immutable as $$
  select case json_typeof(said -> 'response') when 'object' then said -> 'response' else '{}' end
$$;

-- A settled call as one that begins sees it.
create or replace function holdfast.settled_call(response json, failed boolean, actions jsonb) returns json
language sql immutable as $$
  select json_build_object('settled', true, 'response', response, 'failed', failed, 'actions', actions)
$$;

-- The state with the effects of a step's settled calls, before the step merges them.
create or replace function holdfast.settled_delta(session text, step_key text) returns json language plpgsql stable as $$
begin
  return (
    select holdfast.merged_actions(array_agg(l.actions order by c.n)) -> 'stateDelta'
    from holdfast.ledger p
    cross join unnest(p.call_keys) with ordinality c (key, n)
    cross join lateral (
      select t.actions from holdfast.ledger t
      where t.session_id = session and t.key = c.key and t.status = 'settled' and t.actions ? 'stateDelta' offset 0
    ) l
    where p.session_id = session and p.key = step_key
  );
end $$;

-- The outcome of a call's job, which is the call's own, whatever else ends it. The job is locked meanwhile.
create or replace function holdfast.outcome_of_call(session text, key text, out response json, out failed boolean)
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  for j in select * from holdfast.jobs_of_calls(session, array[key]) loop
    select * into j from holdfast.jobs t where t.job_id = j.job_id and t.session_id = session for update;
    if j.status <> 'running' then
      response := j.response;
      failed := j.failed;
    end if;
  end loop;
end $$;
