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
  -- Nothing but its own request may stand behind its marker.
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
