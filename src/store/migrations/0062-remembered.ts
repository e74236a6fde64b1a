/** What Holdfast remembers of a run for itself has columns: as keys of the state, a `stateDelta` could write it. */
export const remembered = `
-- Of a step: the edits of its run's tools from then on, and whether user code has ended the invocation.
alter table holdfast.ledger add column tool_edits json, add column ends boolean;

create index ledger_remembered on holdfast.ledger (session_id, run_key, step) where tool_edits is not null or ends;

-- Nobody but a commit has written this.
update holdfast.ledger l set once = l.once - 'temp',
    tool_edits = l.once -> 'temp' -> case when r.run_key = r.invocation_id then 'temp:_holdfast_tools'
      else 'temp:_holdfast_tools:' || r.run_key end
  from holdfast.runs r
  where r.session_id = l.session_id and r.run_key = l.run_key and l.kind = 'step' and jsonb_typeof(l.once -> 'temp') = 'object';

update holdfast.runs r set temp = (
    select coalesce(jsonb_object_agg(t.key, t.value), '{}') from jsonb_each(r.temp) t where t.key !~* '^temp:_?holdfast_')
  where r.temp::text ~* '"temp:_?holdfast_';

-- Workers of every release write by it, so it keeps its name. Keys that are Holdfast's own go no further.
create or replace function holdfast.apply_delta_1(s holdfast.sessions, invocation text, delta jsonb) returns jsonb
language plpgsql as $$
declare
  own jsonb;
  scratch jsonb;
begin
  select coalesce(jsonb_object_agg(d.key, d.value) filter (where d.key !~ '^(app|user|temp):'), '{}'),
         jsonb_object_agg(d.key, d.value) filter (where d.key like 'temp:%' and d.key !~* '^temp:_?holdfast_')
    into own, scratch from jsonb_each(delta) d;
  insert into holdfast.app_state as a (app_key, key_digest, app, key, value)
    select s.app_key, sha256(convert_to(d.key, 'UTF8')), s.app, substr(d.key, 5), d.value
    from jsonb_each(delta) d where d.key like 'app:%' order by 2
    on conflict (app_key, key_digest) do update set value = excluded.value;
  insert into holdfast.user_state as u (user_key, key_digest, app, user_id, key, value)
    select s.user_key, sha256(convert_to(d.key, 'UTF8')), s.app, s.user_id, substr(d.key, 6), d.value
    from jsonb_each(delta) d where d.key like 'user:%' order by 2
    on conflict (user_key, key_digest) do update set value = excluded.value;
  if scratch is not null then
    update holdfast.runs r set temp = r.temp || scratch
      where r.session_id = s.id and r.run_key = invocation and r.status = 'running';
  end if;
  return own;
end $$;

-- Null of nearly all runs. Volatile, so that it sees what the statement that it stands in has waited for.
create function holdfast.remembered_1(session text, run text) returns json language plpgsql as $$
#variable_conflict use_variable
begin
  return (
    select json_build_object(
      'toolEdits', (array_agg(l.tool_edits order by l.step desc) filter (where l.tool_edits is not null))[1],
      'ends', coalesce(bool_or(l.ends), false))
    from holdfast.ledger l
    where l.session_id = session and l.run_key = run and l.kind = 'step' and (l.tool_edits is not null or l.ends)
    having count(*) > 0);
end $$;

-- As commit_step_2, with what is remembered of the run in place of state.
create function holdfast.commit_step_3(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, agent text,
  event_ids uuid[], kinds text[], authors text[], branches text[], bodies json, deltas jsonb,
  call_keys text[], call_ids text[], call_tools text[],
  row_keys text[], row_indexes int[], row_call_ids text[], row_tools text[], row_args json, row_responses json,
  usage json, model_calls bigint, prompt_tokens bigint, output_tokens bigint, total_tokens bigint,
  cost double precision, outcome_head text, ending_status text, ending_head text, row_actions json, requests json,
  tool_edits json, ends boolean
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  answer json;
begin
  answer := holdfast.commit_step_2(session, invocation, run, at_step, fence_started_at, fence_invocation, agent, event_ids,
    kinds, authors, branches, bodies, deltas, call_keys, call_ids, call_tools, row_keys, row_indexes, row_call_ids, row_tools,
    row_args, row_responses, usage, model_calls, prompt_tokens, output_tokens, total_tokens, cost, outcome_head,
    ending_status, ending_head, null, row_actions, requests);
  if answer ->> 'kind' = 'committed' and (tool_edits is not null or ends) then
    update holdfast.ledger l set tool_edits = tool_edits, ends = ends
      where l.session_id = session and l.key = run || '.' || at_step;
  end if;
  return answer;
end $$;

-- As prepare_retry_3; the calls of the retry have the tools that those of its step had.
create function holdfast.prepare_retry_4(name_key text, call_key text, run text, at_step int, interrupts boolean,
  generation int, new_run text, new_outcome json, marker text, event_id uuid, known_kept text[],
  old_requests text[], new_requests text[], asking json, asking_id uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  answer json := holdfast.prepare_retry_3(name_key, call_key, run, at_step, interrupts, generation, new_run, new_outcome,
    marker, event_id, known_kept, old_requests, new_requests, asking, asking_id);
begin
  if answer ->> 'invocationId' = new_run then
    update holdfast.ledger t set tool_edits = (
        select l.tool_edits from holdfast.ledger l
        where l.session_id = t.session_id and l.run_key = run and l.kind = 'step' and l.step <= at_step
          and l.tool_edits is not null
        order by l.step desc limit 1)
      where t.session_id = answer ->> 'session' and t.key = new_run || '.1';
  end if;
  return answer;
end $$;
`;
