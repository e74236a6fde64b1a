import { CUT_OFF } from './cut-off.ts';
import { EVENT_ROW } from './event-row.ts';

/** What takes a session back: ADK's rewind, and the retry of a turn from one of its calls. */
export const rewinds = `
-- What turns one state into another; a key that the other one lacks becomes null.
create function holdfast.difference_1(present jsonb, past jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  return coalesce((
    select jsonb_object_agg(k.key, coalesce(past -> k.key, 'null'))
    from jsonb_object_keys(present || past) k (key)
    where coalesce(present -> k.key, 'null') <> coalesce(past -> k.key, 'null')
  ), '{}');
end $$;

-- Appends the event that hides what came after a seq, and takes the session's own state back to it.
create function holdfast.append_rewind_1(s holdfast.sessions, hides_after bigint, marker text, event_id uuid,
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
  return event;
end $$;

-- A turn's invocations: the one that is asked for and all its retries.
create function holdfast.generations_1(session text, at_seq bigint, invocation text) returns text[]
language plpgsql stable as $$
declare
  first text;
begin
  select r.origin into first
    from holdfast.lineage_1(session, at_seq) l
    cross join lateral (
      select t.origin from holdfast.runs t where t.session_id = l.of_session and t.run_key = invocation offset 0
    ) r;
  first := coalesce(first, invocation);
  return first || array(
    select r.run_key from holdfast.lineage_1(session, at_seq) l
    cross join lateral (
      select t.run_key from holdfast.runs t where t.session_id = l.of_session and t.origin = first offset 0
    ) r
  );
end $$;

create function holdfast.rewind_session_1(name_key text, before text, marker text, event_id uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  event json;
  turn text[];
  first bigint;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select ${EVENT_ROW} into event from holdfast.events e
    where e.session_id = s.id and e.dedupe_key = 'rewind:' || marker;
  if event is not null then
    return json_build_object('session', s.id, 'event', event);
  end if;
  turn := holdfast.generations_1(s.id, s.last_seq, before);
  select min(v.seq) into first from holdfast.visible_1(s.id, s.last_seq) v where v.invocation_id = any (turn);
  if first is null then
    return json_build_object('problem', 'no place', 'invocations', (
      select json_agg(i.id order by i.seq) from (
        select v.invocation_id as id, min(v.seq) as seq from holdfast.visible_1(s.id, s.last_seq) v
        group by 1 order by 2 desc limit 10
      ) i
    ));
  end if;
  -- A turn that was left open would else be answered behind the marker.
  s := holdfast.heal_1(s, '');
  event := holdfast.append_rewind_1(s, first - 1, marker, event_id, before, null);
  perform holdfast.audit_1(s.id, 'rewound',
    json_build_object('seq', s.last_seq + 1, 'hidesAfter', first - 1, 'beforeInvocationId', before));
  return json_build_object('session', s.id, 'event', event);
end $$;

-- Finds the place that a retry goes back to. With a generation, which must be the next one, the retry is written.
create function holdfast.prepare_retry_1(name_key text, call_key text, run text, at_step int, interrupts boolean,
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
  s.last_seq := s.last_seq + 1;
  insert into holdfast.runs (session_id, run_key, invocation_id, message_id, message_digest, asked, message_seq, agent,
      origin, generation, fence_started_at, fence_invocation, step, first_seq, last_seq)
    values (s.id, new_run, new_run, r.message_id, r.message_digest, r.asked, r.message_seq, old.agent,
      origin, generation, 0, 0, 1, s.last_seq + 1, s.last_seq);
  insert into holdfast.ledger (session_id, key, kind, run_key, step, status, agent, branch, outcome, of_run, of_step,
      call_keys, call_ids, call_tools, usage, seq, settled_at)
    values (s.id, new_run || '.1', 'step', new_run, 1, 'settled', old.agent, old.branch, new_outcome,
      coalesce(old.of_run, run), coalesce(old.of_step, at_step),
      array(select new_run || '.1.' || i from generate_series(0, cardinality(old.call_keys) - 1) i order by i),
      old.call_ids, old.call_tools,
      '{"modelCalls":0,"promptTokens":0,"outputTokens":0,"totalTokens":0}', s.last_seq, clock_timestamp());
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args, args_digest,
      response, failed, actions, attempts, settled_by, started_at, settled_at)
    select s.id, new_run || '.1.' || l.idx, 'call', new_run, 1, l.idx, 'settled', l.call_id, l.tool, l.args,
      l.args_digest, l.response, l.failed, l.actions, 0, l.settled_by, l.started_at, l.settled_at
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
