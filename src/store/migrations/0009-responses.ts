import { CUT_OFF } from './cut-off.ts';
import { EVENT_ROW } from './event-row.ts';

/** Responses that are more than a function's: what is sent behind them, results of code, what plugins made of them. */
export const responses = `
alter table holdfast.ledger add column parts json;

-- What the calls of a step merge into: the event's body, and the state delta that it stands for, \`temp:\` included. A call
-- without an id is code that the model wrote.
create function holdfast.merged_responses_1(session text, invocation text, agent text, branch text, keys text[],
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
    select l.status, l.response, l.actions, l.parts into answered
      from holdfast.ledger l where l.session_id = session and l.key = keys[n];
    if answered.status is distinct from 'settled' then
      unsettled := unsettled || keys[n];
      continue;
    end if;
    if ids[n] <> '' then
      merged := merged || ('{"functionResponse":{"id":' || to_json(ids[n]) || ',"name":' || to_json(tools[n])
        || ',"response":' || answered.response || '}}');
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

create or replace function holdfast.append_responses_1(session text, run text, invocation text, of_step int, agent text,
  branch text, keys text[], ids text[], tools text[], at_seq bigint, event_id uuid, cut_off text,
  for_run text, for_step int, out delta jsonb, out event json)
language plpgsql as $$
declare
  merged record;
begin
  if cut_off is not null then
    perform holdfast.settle_open_calls_1(session, run, of_step, keys, ids, tools, cut_off);
  end if;
  merged := holdfast.merged_responses_1(session, invocation, agent, branch, keys, ids, tools);
  delta := merged.delta;
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (session, at_seq, event_id, invocation, coalesce(for_run, run), coalesce(for_step, of_step), 'responses', agent,
    branch, merged.body, 'responses:' || run || '.' || of_step)
  returning ${EVENT_ROW} into event;
end $$;

-- As append_responses_1, with a body in place of what the calls merge into.
create function holdfast.append_given_responses_1(session text, run text, invocation text, of_step int,
  keys text[], ids text[], tools text[], at_seq bigint, event_id uuid, cut_off text, for_run text, for_step int,
  author text, branch text, body json) returns json
language plpgsql as $$
declare
  event json;
begin
  if cut_off is not null then
    perform holdfast.settle_open_calls_1(session, run, of_step, keys, ids, tools, cut_off);
  end if;
  perform holdfast.merged_responses_1(session, invocation, author, branch, keys, ids, tools);
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (session, at_seq, event_id, invocation, coalesce(for_run, run), coalesce(for_step, of_step), 'responses', author,
    branch, body, 'responses:' || run || '.' || of_step)
  returning ${EVENT_ROW} into event;
  return event;
end $$;

-- Whoever is named as an event's author: its step knows whose it was.
create or replace function holdfast.last_agent_1(session text, at_seq bigint) returns text language plpgsql stable as $$
declare
  step_key text;
  acted text;
begin
  for step_key in
    select v.run_key || '.' || v.step from holdfast.visible_1(session, at_seq) v
    where v.kind in ('model', 'callback', 'error') and v.run_key = v.invocation_id order by v.seq desc
  loop
    select t.agent into acted from holdfast.lineage_1(session, at_seq) l
      cross join lateral (
        select t.agent from holdfast.ledger t
        where t.session_id = l.of_session and t.key = step_key and t.agent is not null offset 0
      ) t limit 1;
    exit when acted is not null;
  end loop;
  return acted;
end $$;

-- Finds the place that a retry goes back to. With a generation, which must be the next one, the retry is written.
create or replace function holdfast.prepare_retry_1(name_key text, call_key text, run text, at_step int, interrupts boolean,
  generation int, new_run text, new_outcome json, marker text, event_id uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  latest holdfast.runs;
  old holdfast.ledger;
  running record;
  origin text;
  model_seq bigint;
  elsewhere text;
  note json;
  kept text[];
  scratch jsonb;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = run;
  select * into old from holdfast.ledger t
    where t.session_id = s.id and t.key = run || '.' || at_step and t.kind = 'step';
  if r.run_key is null or old.key is null or not coalesce(call_key = any (old.call_keys), false) then
    select p.name into elsewhere
      from holdfast.lineage_1(s.parent_id, s.parent_seq) l
      join holdfast.sessions p on p.id = l.of_session
      where exists (select from holdfast.runs t where t.session_id = l.of_session and t.run_key = run) limit 1;
    return json_build_object('problem', 'no call', 'elsewhere', elsewhere);
  end if;
  if r.run_key <> r.invocation_id then
    return json_build_object('problem', 'child');
  end if;

  origin := coalesce(r.origin, r.run_key);
  select * into latest from holdfast.runs t
    where t.origin = origin and t.session_id = s.id order by t.generation desc limit 1;
  note := json_build_object('holdfast', json_build_object('retryOf', run, 'callKey', call_key));
  if latest.status = 'running' and latest.first_seq = s.last_seq + 1 and exists (
      select from holdfast.events e where e.session_id = s.id and e.seq = s.last_seq
        and e.body #>> '{customMetadata,holdfast,callKey}' = call_key) then
    return json_build_object('session', s.id, 'seq', s.last_seq, 'retryOf', origin, 'generation', latest.generation,
      'invocationId', latest.run_key, 'messageId', latest.message_id, 'agent', latest.agent);
  end if;
  if not interrupts then
    -- A retry that never ran is nobody's turn.
    select t.run_key = run as own into running
      from holdfast.runs t
      where t.session_id = s.id and t.status = 'running' and t.run_key = t.invocation_id
        and (t.origin is null or (t.fence_started_at, t.fence_invocation) <> (0, 0))
      order by t.run_key = run desc limit 1;
    if found then
      return json_build_object('problem', case when running.own then 'running' else 'another running' end);
    end if;
  end if;
  select max(e.seq) into model_seq from holdfast.events e
    where e.session_id = s.id and e.run_key = coalesce(old.of_run, run) and e.step = coalesce(old.of_step, at_step)
      and e.kind = 'model';
  if not exists (select from holdfast.visible_1(s.id, s.last_seq) v where v.seq = model_seq) then
    return json_build_object('problem', 'hidden');
  end if;
  if generation is distinct from coalesce(latest.generation, 0) + 1 then
    return json_build_object('place', json_build_object('session', s.id, 'retryOf', origin,
      'generation', coalesce(latest.generation, 0) + 1, 'outcome', old.outcome));
  end if;

  -- Whatever was left open is answered before the marker, which hides it.
  s := holdfast.heal_1(s, '');
  perform holdfast.append_rewind_1(s, model_seq, marker, event_id, null, note);
  -- An outcome that nothing but the end of the turn gave is none to keep.
  kept := array(
    select k.key from unnest(old.call_keys) k (key)
    cross join lateral (
      select t.settled_by, t.response from holdfast.ledger t
      where t.session_id = s.id and t.key = k.key and t.status = 'settled' offset 0
    ) l
    where k.key <> call_key and (l.settled_by is not null or l.response ->> 'error' is distinct from '${CUT_OFF}')
  );
  -- As far as the calls can't run without it: an ended turn's own is gone.
  for n in reverse at_step .. 1 loop
    select t.once -> 'temp' into scratch from holdfast.ledger t where t.session_id = s.id and t.key = run || '.' || n;
    exit when scratch is not null;
  end loop;
  s.last_seq := s.last_seq + 1;
  insert into holdfast.runs (session_id, run_key, invocation_id, message_id, message_digest, asked, message_seq, agent,
      origin, generation, fence_started_at, fence_invocation, step, first_seq, last_seq, temp)
    values (s.id, new_run, new_run, r.message_id, r.message_digest, r.asked, r.message_seq, old.agent,
      origin, generation, 0, 0, 1, s.last_seq + 1, s.last_seq, coalesce(scratch, '{}'));
  insert into holdfast.ledger (session_id, key, kind, run_key, step, status, agent, branch, outcome, of_run, of_step,
      call_keys, call_ids, call_tools, usage, seq, settled_at, once)
    values (s.id, new_run || '.1', 'step', new_run, 1, 'settled', old.agent, old.branch, new_outcome,
      coalesce(old.of_run, run), coalesce(old.of_step, at_step),
      array(select new_run || '.1.' || i from generate_series(0, cardinality(old.call_keys) - 1) i order by i),
      old.call_ids, old.call_tools,
      '{"modelCalls":0,"promptTokens":0,"outputTokens":0,"totalTokens":0}', s.last_seq, clock_timestamp(),
      case when scratch is not null then jsonb_build_object('temp', scratch) end);
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args, args_digest,
      response, failed, actions, parts, attempts, settled_by, started_at, settled_at)
    select s.id, new_run || '.1.' || l.idx, 'call', new_run, 1, l.idx, 'settled', l.call_id, l.tool, l.args,
      l.args_digest, l.response, l.failed, l.actions, l.parts, 0, l.settled_by, l.started_at, l.settled_at
    from unnest(kept) k (key)
    cross join lateral (
      select * from holdfast.ledger t where t.session_id = s.id and t.key = k.key offset 0
    ) l;
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args)
    select s.id, new_run || '.1.' || l.idx, 'call', new_run, 1, l.idx, 'planned', l.call_id, l.tool, l.args
    from unnest(old.call_keys) k (key)
    cross join lateral (
      select * from holdfast.ledger t where t.session_id = s.id and t.key = k.key and t.args is not null offset 0
    ) l
    where k.key <> all (kept);
  perform holdfast.audit_1(s.id, 'retried', json_build_object('seq', s.last_seq, 'hidesAfter', model_seq,
    'retryOf', run, 'callKey', call_key, 'invocationId', new_run, 'generation', generation));
  return json_build_object('session', s.id, 'seq', s.last_seq, 'retryOf', origin, 'generation', generation,
    'invocationId', new_run, 'messageId', r.message_id, 'agent', old.agent);
end $$;
`;
