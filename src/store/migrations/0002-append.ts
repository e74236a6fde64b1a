import { EVENT_ROW } from './event-row.ts';

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

-- Appends the responses of a step's calls at the given seq; gives back the state delta that they carry and the event as
-- readers get it. Without a text for calls that have no outcome, one of them is an error. A step that stands for one of
-- another run (for_run, for_step) answers the model event of that one.
create function holdfast.append_responses_1(session text, run text, invocation text, of_step int, agent text,
  branch text, keys text[], ids text[], tools text[], at_seq bigint, event_id uuid, cut_off text,
  for_run text, for_step int, out delta jsonb, out event json)
language plpgsql as $$
declare
  answered record;
  parts text[] := '{}';
  of_calls jsonb[] := '{}';
  unsettled text[] := '{}';
  actions jsonb;
  actions_text text := '{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}';
begin
  if cut_off is not null then
    perform holdfast.settle_open_calls_1(session, run, of_step, keys, ids, tools, cut_off);
  end if;
  -- One look-up per call: a join may read all rows of the session.
  for n in 1 .. cardinality(keys) loop
    select l.status, l.response, l.actions into answered
      from holdfast.ledger l where l.session_id = session and l.key = keys[n];
    if answered.status is distinct from 'settled' then
      unsettled := unsettled || keys[n];
      continue;
    end if;
    parts := parts || ('{"functionResponse":{"id":' || to_json(ids[n]) || ',"name":' || to_json(tools[n])
      || ',"response":' || answered.response || '}}');
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
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (session, at_seq, event_id, invocation, coalesce(for_run, run), coalesce(for_step, of_step), 'responses', agent,
    branch,
    ('{"invocationId":' || to_json(invocation) || ',"author":' || to_json(agent)
      || coalesce(',"branch":' || to_json(branch), '')
      || ',"content":{"role":"user","parts":[' || array_to_string(parts, ',') || ']},"actions":' || actions_text
      || '}')::json,
    'responses:' || run || '.' || of_step)
  returning ${EVENT_ROW} into event;
end $$;
`;
