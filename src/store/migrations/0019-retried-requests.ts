import { CUT_OFF } from './cut-off.ts';

/** A retry asks people again. */
export const retriedRequests = `
-- Of a call that nothing but the end of its turn has settled, whatever the model was told of it.
alter table holdfast.ledger add column cut_off boolean;

-- Requests for the calls of a retry, made as those of the calls that it stands for.
create function holdfast.ask_again_1(session text, run text, old_requests text[], new_requests text[]) returns void
language plpgsql as $$
#variable_conflict use_variable
begin
  perform holdfast.add_requests_1(session, run, run, (
    select json_agg(json_build_object('requestId', u.new, 'callKey', regexp_replace(u.new, '^rq-(.*)\\.[0-9]+$', '\\1'),
      'callId', a.call_id, 'kind', a.kind, 'tool', a.tool, 'agent', a.agent, 'path', a.path, 'workflowId', a.workflow_id,
      'rootWorkflowId', a.root_workflow_id, 'hint', a.hint, 'payload', a.payload, 'args', a.args,
      'argsDigest', a.args_digest, 'gateDigest', a.gate_digest, 'sensitive', a.sensitive, 'terms', a.terms,
      'responseSchema', a.response_schema, 'authConfig', a.auth_config) order by u.n)
    from unnest(old_requests, new_requests) with ordinality u (old, new, n)
    cross join lateral (
      select * from holdfast.approvals t where t.request_id = u.old and t.session_id = session offset 0
    ) a));
end $$;

-- Finds the place that a retry goes back to, with the calls whose outcomes it keeps and the event that asked people. With a
-- generation, which must be the next one, and the same kept calls, the retry is written: people are asked anew for the others.
create function holdfast.prepare_retry_2(name_key text, call_key text, run text, at_step int, interrupts boolean,
  generation int, new_run text, new_outcome json, marker text, event_id uuid, known_kept text[],
  old_requests text[], new_requests text[], asking json, asking_id uuid) returns json
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
  -- Nothing but its own request may stand behind its marker.
  if latest.status = 'running' and exists (
      select from holdfast.events e where e.session_id = s.id and e.seq = latest.first_seq - 1
        and e.body #>> '{customMetadata,holdfast,callKey}' = call_key)
      and not exists (select from holdfast.events e where e.session_id = s.id and e.seq >= latest.first_seq
        and e.dedupe_key <> 'request:' || latest.run_key || '.1') then
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
  -- An outcome that nothing but the end of the turn gave is none to keep.
  kept := array(
    select k.key from unnest(old.call_keys) k (key)
    cross join lateral (
      select t.settled_by, t.response, t.cut_off from holdfast.ledger t
      where t.session_id = s.id and t.key = k.key and t.status = 'settled' offset 0
    ) l
    where k.key <> call_key and l.cut_off is not true
      and (l.settled_by is not null or l.response ->> 'error' is distinct from '${CUT_OFF}')
  );
  if generation is distinct from coalesce(latest.generation, 0) + 1 or known_kept is distinct from kept then
    return json_build_object('place', json_build_object('session', s.id, 'retryOf', origin,
      'generation', coalesce(latest.generation, 0) + 1, 'outcome', old.outcome, 'kept', kept, 'asked', (
        select e.body from holdfast.events e
        where e.session_id = s.id and e.dedupe_key = 'request:' || run || '.' || at_step)));
  end if;

  -- Whatever was left open is answered before the marker, which hides it.
  s := holdfast.heal_1(s, '');
  perform holdfast.append_rewind_1(s, model_seq, marker, event_id, null, note);
  -- As far as the calls can't run without it: an ended turn's own is gone.
  for n in reverse at_step .. 1 loop
    select t.once -> 'temp' into scratch from holdfast.ledger t where t.session_id = s.id and t.key = run || '.' || n;
    exit when scratch is not null;
  end loop;
  s.last_seq := s.last_seq + 1;
  insert into holdfast.runs (session_id, run_key, invocation_id, message_id, message_digest, asked, requester, message_seq,
      agent, origin, generation, fence_started_at, fence_invocation, step, first_seq, last_seq, temp)
    values (s.id, new_run, new_run, r.message_id, r.message_digest, r.asked, r.requester, r.message_seq,
      old.agent, origin, generation, 0, 0, 1, s.last_seq + 1, s.last_seq, coalesce(scratch, '{}'));
  if asking is not null then
    s.last_seq := s.last_seq + 1;
    insert into holdfast.events
      (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
      values (s.id, s.last_seq, asking_id, new_run, new_run, 1, 'request', asking ->> 'author', asking ->> 'branch',
        asking, 'request:' || new_run || '.1');
    update holdfast.sessions t set last_seq = s.last_seq where t.id = s.id;
  end if;
  perform holdfast.ask_again_1(s.id, new_run, old_requests, new_requests);
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
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args, prepared)
    select s.id, new_run || '.1.' || l.idx, 'call', new_run, 1, l.idx, 'planned', l.call_id, l.tool, l.args, l.prepared
    from unnest(old.call_keys) k (key)
    cross join lateral (
      select * from holdfast.ledger t
      where t.session_id = s.id and t.key = k.key and (t.args is not null or t.prepared is not null) offset 0
    ) l
    where k.key <> all (kept);
  perform holdfast.audit_1(s.id, 'retried', json_build_object('seq', s.last_seq - (asking is not null)::int, 'hidesAfter',
    model_seq, 'retryOf', run, 'callKey', call_key, 'invocationId', new_run, 'generation', generation));
  return json_build_object('session', s.id, 'seq', s.last_seq, 'retryOf', origin, 'generation', generation,
    'invocationId', new_run, 'messageId', r.message_id, 'agent', old.agent);
end $$;
`;
