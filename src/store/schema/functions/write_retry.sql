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
  -- Whatever was left open is answered before the marker, which hides it.
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
