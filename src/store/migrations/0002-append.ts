/** State and the merged responses of a step. A function's name ends in its version: older workers keep calling theirs. */
export const append = `
-- Objects merge, anything else is replaced: at 100 levels objects too, since recursion has an end.
create function holdfast.merge_deltas_1(older jsonb, newer jsonb, level int) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  if level = 100 or jsonb_typeof(older) <> 'object' or jsonb_typeof(newer) <> 'object' then
    return newer;
  end if;
  return older || newer || coalesce((
    select jsonb_object_agg(n.key, holdfast.merge_deltas_1(older -> n.key, n.value, level + 1))
    from jsonb_each(newer) n
    where jsonb_typeof(n.value) = 'object' and jsonb_typeof(older -> n.key) = 'object'
  ), '{}');
end $$;

create function holdfast.apply_delta_1(s holdfast.sessions, invocation text, delta jsonb) returns jsonb
language plpgsql as $$
declare
  own jsonb;
  scratch jsonb;
begin
  select coalesce(jsonb_object_agg(d.key, d.value) filter (where d.key !~ '^(app|user|temp):'), '{}'),
         jsonb_object_agg(d.key, d.value) filter (where d.key like 'temp:%')
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

create function holdfast.state_of_1(s holdfast.sessions, own jsonb, invocation text) returns jsonb
language plpgsql stable as $$
begin
  return own
    || coalesce((select jsonb_object_agg('app:' || a.key, a.value)
         from holdfast.app_state a where a.app_key = s.app_key), '{}')
    || coalesce((select jsonb_object_agg('user:' || u.key, u.value)
         from holdfast.user_state u where u.user_key = s.user_key), '{}')
    || coalesce((select r.temp from holdfast.runs r where r.session_id = s.id and r.run_key = invocation), '{}');
end $$;

create function holdfast.settle_open_calls_1(session text, run text, of_step int, keys text[], ids text[],
  tools text[], error text) returns void language plpgsql as $$
begin
  insert into holdfast.ledger as l
    (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at)
  select session, c.key, 'call', run, of_step, (c.n - 1)::int, c.call_id, c.tool,
    'settled', json_build_object('error', error), true, '{}', clock_timestamp()
  from unnest(keys, ids, tools) with ordinality c (key, call_id, tool, n)
  order by c.key
  on conflict on constraint ledger_pkey do update set
    status = 'settled', response = excluded.response, failed = true, actions = '{}', settled_at = excluded.settled_at
    where l.status <> 'settled';
end $$;

create function holdfast.merged_actions_1(of_calls jsonb[]) returns jsonb
language plpgsql immutable as $$
declare
  actions jsonb;
  delta jsonb := '{}';
  artifacts jsonb := '{}';
  flags jsonb := '{}';
begin
  foreach actions in array coalesce(of_calls, '{}') loop
    if actions ? 'stateDelta' then
      delta := holdfast.merge_deltas_1(delta, actions -> 'stateDelta', 0);
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

-- Appends the step's responses at the given seq; null where it has no calls or they are there already, else the state
-- delta that they carry. Without a text for calls that have no outcome, one of them is an error.
create function holdfast.append_responses_1(session text, run text, of_step int, at_seq bigint, cut_off text)
returns jsonb language plpgsql as $$
declare
  step_key text := run || '.' || of_step;
  step_row record;
  answered record;
  actions jsonb;
begin
  select l.call_keys, l.call_ids, l.call_tools, l.agent, l.branch, l.answered_seq, r.invocation_id
    into step_row
    from holdfast.ledger l join holdfast.runs r on r.session_id = session and r.run_key = run
    where l.session_id = session and l.key = step_key;
  if step_row.call_keys is null or step_row.answered_seq is not null then
    return null;
  end if;
  if cut_off is not null then
    perform holdfast.settle_open_calls_1(session, run, of_step, step_row.call_keys, step_row.call_ids,
      step_row.call_tools, cut_off);
  end if;
  -- One look-up per call: a join may read all rows of the session.
  select string_agg('{"functionResponse":{"id":' || to_json(c.call_id) || ',"name":' || to_json(c.tool)
           || ',"response":' || l.response || '}}', ',' order by c.n) as parts,
         string_agg(c.key, ', ' order by c.n) filter (where l.status is distinct from 'settled') as unsettled,
         array_agg(l.actions order by c.n) filter (where l.actions <> '{}') as actions
    into answered
    from unnest(step_row.call_keys, step_row.call_ids, step_row.call_tools)
      with ordinality c (key, call_id, tool, n)
    left join lateral (
      select t.status, t.response, t.actions from holdfast.ledger t
      where t.session_id = session and t.key = c.key offset 0
    ) l on true;
  if answered.unsettled is not null then
    raise exception using errcode = 'HF003', message = 'calls without an outcome: ' || answered.unsettled;
  end if;
  actions := holdfast.merged_actions_1(answered.actions);
  insert into holdfast.events
    (session_id, seq, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (session, at_seq, step_row.invocation_id, run, of_step, 'responses', step_row.agent, step_row.branch,
    ('{"invocationId":' || to_json(step_row.invocation_id) || ',"author":' || to_json(step_row.agent)
      || coalesce(',"branch":' || to_json(step_row.branch), '')
      || ',"content":{"role":"user","parts":[' || answered.parts || ']},"actions":'
      || (actions || jsonb_build_object(
           'stateDelta', (select coalesce(jsonb_object_agg(d.key, d.value), '{}')
             from jsonb_each(actions -> 'stateDelta') d where d.key not like 'temp:%'),
           'requestedAuthConfigs', '{}'::jsonb, 'requestedToolConfirmations', '{}'::jsonb))
      || '}')::json,
    'responses:' || step_key);
  update holdfast.ledger l set answered_seq = at_seq where l.session_id = session and l.key = step_key;
  return actions -> 'stateDelta';
end $$;
`;
