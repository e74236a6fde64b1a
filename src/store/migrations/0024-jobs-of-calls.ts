import { EVENT_ROW } from './event-row.ts';

const REPLACED = 'this call was made anew by a retry';

/** What ends calls ends their jobs. Older workers do so, too, as far as the functions keep their names. */
export const jobsOfCalls = `
-- The response is what is known by now: the call's job goes on.
alter table holdfast.ledger add column will_continue boolean;

-- What the calls of a step merge into: the event's body, and the state delta that it stands for, \`temp:\` included. A call
-- without an id is code that the model wrote.
create or replace function holdfast.merged_responses_1(session text, invocation text, agent text, branch text, keys text[],
  ids text[], tools text[], out delta jsonb, out body json) language plpgsql stable as $$
declare
  answered record;
  merged text[] := '{}';
  of_calls jsonb[] := '{}';
  unsettled text[] := '{}';
  actions jsonb;
  actions_text text := '{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}';
begin
  -- One look-up per call: a join may read all rows of the session.
  for n in 1 .. cardinality(keys) loop
    select l.status, l.response, l.actions, l.parts, l.will_continue into answered
      from holdfast.ledger l where l.session_id = session and l.key = keys[n];
    if answered.status is distinct from 'settled' then
      unsettled := unsettled || keys[n];
      continue;
    end if;
    if ids[n] <> '' then
      merged := merged || ('{"functionResponse":{"id":' || to_json(ids[n]) || ',"name":' || to_json(tools[n])
        || ',"response":' || answered.response || case when answered.will_continue then ',"willContinue":true' else '' end
        || '}}');
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
    actions := holdfast.merged_actions_1(of_calls);
    delta := actions -> 'stateDelta';
    actions_text := actions || jsonb_build_object(
      'stateDelta', (select coalesce(jsonb_object_agg(d.key, d.value), '{}')
        from jsonb_each(delta) d where d.key not like 'temp:%'),
      'requestedAuthConfigs', '{}'::jsonb, 'requestedToolConfirmations', '{}'::jsonb);
  end if;
  body := ('{"invocationId":' || to_json(invocation) || ',"author":' || to_json(agent)
    || coalesce(',"branch":' || to_json(branch), '')
    || ',"content":{"role":"user","parts":[' || array_to_string(merged, ',') || ']},"actions":' || actions_text
    || '}')::json;
end $$;

-- Where the call that began the job isn't settled, it is what tells the session; where it was settled by anything but what was
-- known meanwhile, it has done so.
create function holdfast.job_delivery_1(session text, job text) returns text language plpgsql stable as $$
declare
  j record;
  l record;
begin
  select t.call_key, t.delivered_seq, t.hidden into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    return 'deleted';
  end if;
  select t.status, t.will_continue into l from holdfast.ledger t where t.session_id = session and t.key = j.call_key;
  return case when j.delivered_seq is not null then 'told' when j.hidden then 'hidden'
    when l.status is distinct from 'settled' then 'open' when l.will_continue then 'due' else 'told' end;
end $$;

-- By one call after the other: the index of the session would do, too, and read all of its jobs.
create function holdfast.jobs_of_calls_1(session text, keys text[]) returns setof holdfast.jobs language plpgsql stable as $$
begin
  for n in 1 .. coalesce(cardinality(keys), 0) loop
    return query select t.* from (select * from holdfast.jobs a where a.call_key = keys[n] offset 0) t
      where t.session_id = session;
  end loop;
end $$;

-- Jobs of calls that were settled without them end as the calls have: nobody waits for them any more.
create function holdfast.cut_off_jobs_1(session text, keys text[]) returns void language plpgsql as $$
declare
  c record;
  l record;
begin
  for c in
    select t.job_id, t.call_key from holdfast.jobs_of_calls_1(session, keys) t where t.status = 'running' order by t.job_id
  loop
    select t.response, t.failed into l from holdfast.ledger t where t.session_id = session and t.key = c.call_key;
    update holdfast.jobs j set status = 'cancelled', ended_by = 'turn', ended_at = holdfast.now_ms_1(),
        response = l.response, failed = l.failed
      where j.job_id = c.job_id and j.session_id = session and j.status = 'running';
    if found then
      perform set_config('holdfast.cut_off_jobs',
        concat_ws(' ', nullif(current_setting('holdfast.cut_off_jobs', true), ''), c.job_id), true);
    end if;
  end loop;
end $$;

-- What a call's job has come to, which is what the call has come to, whatever else ends it. Nobody ends the job meanwhile.
create function holdfast.outcome_of_call_1(session text, key text, out response json, out failed boolean)
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  for j in select * from holdfast.jobs_of_calls_1(session, array[key]) loop
    select * into j from holdfast.jobs t where t.job_id = j.job_id and t.session_id = session for update;
    if j.status <> 'running' then
      response := j.response;
      failed := j.failed;
    end if;
  end loop;
end $$;

create or replace function holdfast.settle_open_calls_1(session text, run text, of_step int, keys text[], ids text[],
  tools text[], error text) returns void language plpgsql as $$
declare
  closed text[];
begin
  with written as (
    insert into holdfast.ledger as l
      (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at, cut_off)
    select session, c.key, 'call', run, of_step, (c.n - 1)::int, c.call_id, c.tool,
      'settled', coalesce(o.response, json_build_object('error', error)), coalesce(o.failed, true), '{}', clock_timestamp(), true
    from unnest(keys, ids, tools) with ordinality c (key, call_id, tool, n)
    cross join lateral holdfast.outcome_of_call_1(session, c.key) o
    order by c.key
    on conflict on constraint ledger_pkey do update set
      status = 'settled', response = excluded.response, failed = excluded.failed, actions = holdfast.kept_actions_1(l.prepared),
      settled_at = excluded.settled_at, cut_off = true
      where l.status <> 'settled'
    returning l.key
  ) select array_agg(w.key) into closed from written w;
  if closed is not null then
    -- Of this moment: a job that was begun meanwhile had the call's row.
    perform holdfast.cut_off_jobs_1(session, closed);
  end if;
end $$;

-- As settle_step_2; jobs of what it settles end, and those that have ended before are what their calls come to. \`cutOff\`: the
-- calls of the step that an end of the turn has cut off, now or before, and whose jobs have no outcome of their own.
create function holdfast.settle_step_3(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  agent text, keys text[], steps int[], indexes int[], call_ids text[], tools text[], call_responses json,
  failed boolean[], actions json, parts json, ending_status text, ending_head text, cut_off text,
  responses_author text, responses_branch text, responses json, responses_delta jsonb,
  kinds text[], authors text[], branches text[], bodies json, deltas jsonb
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  answer json;
  settled text[];
  outcome record;
  of_step text[] := (select t.call_keys from holdfast.ledger t where t.session_id = session and t.key = run || '.' || at_step);
  of_calls json[] := array(select c.value from json_array_elements(call_responses) c);
begin
  if keys <> '{}' then
    -- The session comes before its jobs, as everywhere.
    perform from holdfast.sessions t where t.id = session for update;
    for n in 1 .. cardinality(keys) loop
      select * into outcome from holdfast.outcome_of_call_1(session, keys[n]);
      continue when outcome.response is null;
      of_calls[n] := outcome.response;
      failed[n] := outcome.failed;
    end loop;
    call_responses := array_to_json(of_calls);
  end if;
  answer := holdfast.settle_step_2(session, invocation, run, at_step, fence_started_at, fence_invocation, seq, agent, keys,
    steps, indexes, call_ids, tools, call_responses, failed, actions, parts, ending_status, ending_head, cut_off,
    responses_author, responses_branch, responses, responses_delta, kinds, authors, branches, bodies, deltas);
  if json_typeof(answer -> 'settled') = 'array' then
    settled := array(select c.value ->> 0 from json_array_elements(answer -> 'settled') c);
    perform holdfast.cut_off_jobs_1(session, settled);
  end if;
  return json_build_object('answer', answer,
    'news', holdfast.job_news_1(session, holdfast.cut_off_now_1()),
    'cutOff', (
      select json_agg(json_build_array(j.call_key, j.call_id) order by j.job_id)
      from holdfast.jobs_of_calls_1(session, of_step) j
      where j.status in ('cancelled', 'timed_out') and (
        select t.cut_off from holdfast.ledger t where t.session_id = session and t.key = j.call_key)));
end $$;

-- As prepare_retry_2; jobs of the calls that are made anew end, and no session is told of them. \`jobs\`: of those that a
-- workflow of their own waits for.
create function holdfast.prepare_retry_3(name_key text, call_key text, run text, at_step int, interrupts boolean,
  generation int, new_run text, new_outcome json, marker text, event_id uuid, known_kept text[],
  old_requests text[], new_requests text[], asking json, asking_id uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  answer json := holdfast.prepare_retry_2(name_key, call_key, run, at_step, interrupts, generation, new_run, new_outcome,
    marker, event_id, known_kept, old_requests, new_requests, asking, asking_id);
  of_session text := answer ->> 'session';
  of_calls text[];
  kept text;
  of_job text;
begin
  if of_session is null then
    return answer;
  end if;
  of_calls := (select t.call_keys from holdfast.ledger t where t.session_id = of_session and t.key = run || '.' || at_step);
  if answer ->> 'invocationId' = new_run then
    -- This has written it.
    foreach kept in array known_kept loop
      update holdfast.ledger t set will_continue = true
        where t.session_id = of_session and t.key = new_run || '.1.' || regexp_replace(kept, '^.*\\.', '')
          and exists (select from holdfast.ledger o where o.session_id = of_session and o.key = kept and o.will_continue);
    end loop;
    for of_job in
      select t.job_id from holdfast.jobs_of_calls_1(of_session, of_calls) t
      where t.call_key <> all (known_kept) order by t.job_id
    loop
      update holdfast.jobs j set status = 'cancelled', ended_by = 'turn', ended_at = holdfast.now_ms_1(),
          response = '{"error":"${REPLACED}"}', failed = true
        where j.job_id = of_job and j.session_id = of_session and j.status = 'running';
      update holdfast.jobs j set hidden = true where j.job_id = of_job and j.session_id = of_session;
    end loop;
  end if;
  return (answer::jsonb || jsonb_build_object('jobs', (
    select json_agg(json_build_object('jobId', j.job_id, 'ended', true, 'address', holdfast.job_address_1(j)) order by j.job_id)
    from holdfast.jobs_of_calls_1(of_session, of_calls) j
    where j.hidden and j.mode = 'detached' and j.ended_by = 'turn')))::json;
end $$;

create function holdfast.forget_jobs_1() returns trigger language plpgsql as $$
begin
  delete from holdfast.jobs j where j.session_id = old.id;
  return null;
end $$;
create trigger sessions_lose_jobs after delete on holdfast.sessions for each row execute function holdfast.forget_jobs_1();

-- Appends the event that hides what came after a seq, and takes the session's own state back to it. Jobs of
-- calls that it hides have nobody to tell.
create or replace function holdfast.append_rewind_1(s holdfast.sessions, hides_after bigint, marker text, event_id uuid,
  before text, note json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  delta jsonb := holdfast.difference_1(s.state, holdfast.state_at_1(s.id, hides_after));
  event json;
begin
  s.last_seq := s.last_seq + 1;
  s.state := s.state || delta;
  s.last_agent := holdfast.last_agent_1(s.id, hides_after);
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, hides_after, dedupe_key)
    values (s.id, s.last_seq, event_id, marker, marker, 0, 'rewind', 'user',
      ('{"invocationId":' || to_json(marker) || ',"author":"user","actions":{'
        || coalesce('"rewindBeforeInvocationId":' || to_json(before) || ',', '')
        || '"stateDelta":' || delta
        || ',"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}'
        || coalesce(',"customMetadata":' || note, '') || '}')::json,
      hides_after, 'rewind:' || marker)
    returning ${EVENT_ROW} into event;
  perform holdfast.save_session_1(s);
  update holdfast.jobs j set hidden = true where j.session_id = s.id and j.model_seq > hides_after and not j.hidden;
  return event;
end $$;
`;
