-- Finds the place that a retry goes back to, with the calls whose outcomes it keeps and the event that asked people. With the
-- next generation and the same kept calls the retry is written. One that was prepared for the same call and hasn't begun is
-- the answer.
create or replace function holdfast.prepare_retry(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  latest holdfast.runs;
  old holdfast.ledger;
  running record;
  first_run text;
  next_generation int;
  model_seq bigint;
  kept text[];
begin
  select * into a from json_to_record(args) as t(
    name_key text, call_key text, run_key text, step int, interrupts boolean, generation int, kept text[]);
  s := holdfast.lock_root(a.name_key);
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = a.run_key;
  select * into old from holdfast.ledger t
    where t.session_id = s.id and t.key = a.run_key || '.' || a.step and t.kind = 'step';
  if r.run_key is null or old.key is null or not coalesce(a.call_key = any (old.call_keys), false) then
    return json_build_object('problem', 'no call', 'elsewhere', (
      select p.name
      from holdfast.lineage(s.parent_id, s.parent_seq) l
      join holdfast.sessions p on p.id = l.of_session
      where exists (select from holdfast.runs t where t.session_id = l.of_session and t.run_key = a.run_key) limit 1));
  end if;
  if r.run_key <> r.invocation_id then
    return json_build_object('problem', 'child');
  end if;

  first_run := coalesce(r.origin, r.run_key);
  select * into latest from holdfast.runs t
    where t.origin = first_run and t.session_id = s.id order by t.generation desc limit 1;
  next_generation := coalesce(latest.generation, 0) + 1;
  -- Only its own request may come after its marker.
  if latest.status = 'running' and exists (
      select from holdfast.events e where e.session_id = s.id and e.seq = latest.first_seq - 1
        and e.body #>> '{customMetadata,holdfast,callKey}' = a.call_key)
      and not exists (select from holdfast.events e where e.session_id = s.id and e.seq >= latest.first_seq
        and e.dedupe_key <> 'request:' || latest.run_key || '.1') then
    return holdfast.prepared_retry(latest, s.last_seq, old.call_keys);
  end if;
  if not a.interrupts then
    -- A retry that never ran is nobody's turn.
    select t.run_key = a.run_key as own into running
      from holdfast.runs t
      where t.session_id = s.id and t.status = 'running' and t.run_key = t.invocation_id
        and (t.origin is null or (t.fence_started_at, t.fence_invocation) <> (0, 0))
      order by t.run_key = a.run_key desc limit 1;
    if found then
      return json_build_object('problem', case when running.own then 'running' else 'another running' end);
    end if;
  end if;
  select max(e.seq) into model_seq from holdfast.events e
    where e.session_id = s.id and e.run_key = coalesce(old.of_run, a.run_key) and e.step = coalesce(old.of_step, a.step)
      and e.kind = 'model';
  if not exists (select from holdfast.visible(s.id, s.last_seq) v where v.seq = model_seq) then
    return json_build_object('problem', 'hidden');
  end if;
  -- An outcome that nothing but the end of the turn gave is none to keep.
  kept := array(
    select k.key from unnest(old.call_keys) k (key)
    cross join lateral (
      select t.settled_by, t.response, t.cut_off from holdfast.ledger t
      where t.session_id = s.id and t.key = k.key and t.status = 'settled' offset 0
    ) l
    where k.key <> a.call_key and l.cut_off is not true
      and (l.settled_by is not null or l.response ->> 'error' is distinct from holdfast.cut_off_text())
  );
  if a.generation is distinct from next_generation or a.kept is distinct from kept then
    return json_build_object('place', json_build_object('session', s.id, 'retryOf', first_run,
      'generation', next_generation, 'outcome', old.outcome, 'kept', kept, 'asked', (
        select e.body from holdfast.events e
        where e.session_id = s.id and e.dedupe_key = 'request:' || old.key)));
  end if;
  return holdfast.write_retry(args, s, r, old, model_seq);
end $$;

-- A retry as it is answered. `jobs`: those of the calls that it makes anew and that a workflow of their own waits for.
create or replace function holdfast.prepared_retry(retry holdfast.runs, seq bigint, retried text[]) returns json
language plpgsql stable as $$
begin
  return json_build_object('session', retry.session_id, 'seq', seq, 'retryOf', retry.origin, 'generation', retry.generation,
    'invocationId', retry.run_key, 'messageId', retry.message_id, 'agent', retry.agent, 'jobs', (
      select json_agg(json_build_object('jobId', j.job_id, 'ended', true, 'address', holdfast.job_address(j)) order by j.job_id)
      from holdfast.jobs_of_calls(retry.session_id, retried) j
      where j.hidden and j.mode = 'detached' and j.ended_by = 'turn'));
end $$;

-- Writes a retry of a turn from one of its steps: the event that hides what came after the step's model event, a run whose
-- first step is recorded with the step's outcome, the calls whose outcomes are kept, and requests for those of the others
-- that had one.
create or replace function holdfast.write_retry(args json, s holdfast.sessions, r holdfast.runs, old holdfast.ledger,
  model_seq bigint) returns json language plpgsql as $$
declare
  a record;
  retry holdfast.runs;
  scratch jsonb;
  of_job text;
begin
  select * into a from json_to_record(args) as t(
    call_key text, generation int, new_run text, new_outcome json, marker text, event_id uuid, kept text[], requests json,
    asking json, asking_id uuid);
  -- Open calls are answered before the marker, which hides them.
  s := holdfast.heal(s, '');
  perform holdfast.append_rewind(s, model_seq, a.marker, a.event_id, null,
    json_build_object('holdfast', json_build_object('retryOf', r.run_key, 'callKey', a.call_key)));
  s.last_seq := s.last_seq + 1;
  -- As far as the calls can't run without it: an ended turn's own is gone.
  for n in reverse old.step .. 1 loop
    select t.once -> 'temp' into scratch from holdfast.ledger t where t.session_id = s.id and t.key = r.run_key || '.' || n;
    exit when scratch is not null;
  end loop;
  insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked, requester, message_seq,
      agent, origin, generation, fence_started_at, fence_invocation, step, first_seq, last_seq, temp)
    values (s.id, a.new_run, a.new_run, r.message_id, r.message_digest, r.asked, r.requester, r.message_seq,
      old.agent, coalesce(r.origin, r.run_key), a.generation, 0, 0, 1, s.last_seq + 1, s.last_seq, coalesce(scratch, '{}'))
    returning * into retry;
  if a.asking is not null then
    s.last_seq := s.last_seq + 1;
    insert into holdfast.events
      (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
      values (s.id, s.last_seq, a.asking_id, a.new_run, a.new_run, 1, 'request', a.asking ->> 'author', a.asking ->> 'branch',
        a.asking, 'request:' || a.new_run || '.1');
    update holdfast.sessions t set last_seq = s.last_seq where t.id = s.id;
  end if;
  perform holdfast.ask_again(s.id, a.new_run, a.requests);
  insert into holdfast.ledger (session_id, key, kind, run_key, step, status, agent, branch, outcome, of_run, of_step,
      call_keys, call_ids, call_tools, seq, settled_at, once, tool_edits)
    values (s.id, a.new_run || '.1', 'step', a.new_run, 1, 'settled', old.agent, old.branch, a.new_outcome,
      coalesce(old.of_run, r.run_key), coalesce(old.of_step, old.step),
      array(select a.new_run || '.1.' || i from generate_series(0, cardinality(old.call_keys) - 1) i order by i),
      old.call_ids, old.call_tools, s.last_seq, clock_timestamp(),
      case when scratch is not null then jsonb_build_object('temp', scratch) end, (
        select l.tool_edits from holdfast.ledger l
        where l.session_id = s.id and l.run_key = r.run_key and l.kind = 'step' and l.step <= old.step
          and l.tool_edits is not null
        order by l.step desc limit 1));
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args, args_digest,
      response, failed, actions, parts, will_continue, attempts, settled_by, started_at, settled_at)
    select s.id, a.new_run || '.1.' || l.idx, 'call', a.new_run, 1, l.idx, 'settled', l.call_id, l.tool, l.args,
      l.args_digest, l.response, l.failed, l.actions, l.parts, l.will_continue, 0, l.settled_by, l.started_at, l.settled_at
    from unnest(a.kept) k (key)
    cross join lateral (
      select * from holdfast.ledger t where t.session_id = s.id and t.key = k.key offset 0
    ) l;
  insert into holdfast.ledger (session_id, key, kind, run_key, step, idx, status, call_id, tool, args, prepared)
    select s.id, a.new_run || '.1.' || l.idx, 'call', a.new_run, 1, l.idx, 'planned', l.call_id, l.tool, l.args, l.prepared
    from unnest(old.call_keys) k (key)
    cross join lateral (
      select * from holdfast.ledger t
      where t.session_id = s.id and t.key = k.key and (t.args is not null or t.prepared is not null) offset 0
    ) l
    where k.key <> all (a.kept);
  -- No session is told of jobs whose calls are made anew.
  for of_job in
    select t.job_id from holdfast.jobs_of_calls(s.id, old.call_keys) t where t.call_key <> all (a.kept) order by t.job_id
  loop
    update holdfast.jobs j set status = 'cancelled', ended_by = 'turn', ended_at = holdfast.now_ms(),
        response = '{"error":"this call was made anew by a retry"}', failed = true
      where j.job_id = of_job and j.session_id = s.id and j.status = 'running';
    update holdfast.jobs j set hidden = true where j.job_id = of_job and j.session_id = s.id;
  end loop;
  perform holdfast.audit(s.id, 'retried', json_build_object('seq', s.last_seq - (a.asking is not null)::int, 'hidesAfter',
    model_seq, 'retryOf', r.run_key, 'callKey', a.call_key, 'invocationId', a.new_run, 'generation', a.generation));
  return holdfast.prepared_retry(retry, s.last_seq, old.call_keys);
end $$;

-- Requests for the calls of a retry, made as those of the calls that it stands for.
create or replace function holdfast.ask_again(session text, run text, requests json) returns void language plpgsql as $$
begin
  perform holdfast.add_requests(session, run, run, (
    select json_agg(json_build_object('requestId', u.now, 'callKey', regexp_replace(u.now, '^rq-(.*)\.[0-9]+$', '\1'),
      'callId', a.call_id, 'kind', a.kind, 'tool', a.tool, 'agent', a.agent, 'path', a.path, 'workflowId', a.workflow_id,
      'rootWorkflowId', a.root_workflow_id, 'hint', a.hint, 'payload', a.payload, 'args', a.args,
      'argsDigest', a.args_digest, 'gateDigest', a.gate_digest, 'sensitive', a.sensitive, 'terms', a.terms,
      'responseSchema', a.response_schema, 'authConfig', a.auth_config) order by u.n)
    from rows from (json_to_recordset(requests) as (before text, now text)) with ordinality u (before, now, n)
    cross join lateral (
      select * from holdfast.approvals t where t.request_id = u.before and t.session_id = session offset 0
    ) a));
end $$;
