import { CUT_OFF } from './cut-off.ts';

/** How invocations end without a model's answer. */
export const endings = `
create function holdfast.add_usage_1(session text, run text, model_calls bigint, prompt_tokens bigint,
  output_tokens bigint, total_tokens bigint, cost double precision, unknown_calls bigint) returns holdfast.runs
language plpgsql as $$
#variable_conflict use_variable
declare
  r holdfast.runs;
begin
  update holdfast.runs t set model_calls = t.model_calls + model_calls,
      prompt_tokens = t.prompt_tokens + prompt_tokens, output_tokens = t.output_tokens + output_tokens,
      total_tokens = t.total_tokens + total_tokens, cost = coalesce(t.cost + cost, t.cost, cost),
      unknown_calls = t.unknown_calls + unknown_calls
    where t.session_id = session and t.run_key = run
    returning * into r;
  return r;
end $$;

-- The last step that a run has opened, looked for around the one that its row names: a chain that took over may have
-- begun again with an earlier one. Its calls are the only ones that can lack responses: a step that has begun has those of
-- the one before it.
create function holdfast.newest_step_1(session text, run text, around int) returns holdfast.ledger
language plpgsql stable as $$
declare
  newest holdfast.ledger;
  higher holdfast.ledger;
begin
  for n in reverse around .. 1 loop
    select * into newest from holdfast.ledger l where l.session_id = session and l.key = run || '.' || n;
    exit when found;
  end loop;
  while newest.key is not null loop
    select * into higher from holdfast.ledger l
      where l.session_id = session and l.key = run || '.' || (newest.step + 1);
    exit when not found;
    newest := higher;
  end loop;
  return newest;
end $$;

-- Appends the responses of a run's newest step, where it has calls, with a text for those that are open.
create function holdfast.append_last_responses_1(inout s holdfast.sessions, r holdfast.runs, newest holdfast.ledger,
  cut_off text) language plpgsql as $$
declare
  appended record;
begin
  if newest.call_keys is null then
    return;
  end if;
  appended := holdfast.append_responses_1(s.id, r.run_key, r.invocation_id, newest.step, newest.agent, newest.branch,
    newest.call_keys, newest.call_ids, newest.call_tools, s.last_seq + 1, gen_random_uuid(),
    coalesce(cut_off, '${CUT_OFF}'), newest.of_run, newest.of_step);
  s.last_seq := s.last_seq + 1;
  if appended.delta <> '{}' then
    s.state := s.state || holdfast.apply_delta_1(s, r.invocation_id, appended.delta);
  end if;
end $$;

-- Counts the attempts of a run's newest step that said nothing before the run ended: each may have asked the model.
create function holdfast.count_unknown_1(inout s holdfast.sessions, r holdfast.runs, newest holdfast.ledger)
language plpgsql as $$
declare
  unknown int := case when newest.status = 'started' then greatest(newest.attempts - newest.ended, 0) else 0 end;
begin
  if unknown > 0 then
    perform holdfast.add_usage_1(s.id, r.run_key, unknown, 0, 0, 0, null, unknown);
    if r.run_key <> r.invocation_id then
      perform holdfast.add_usage_1(s.id, r.invocation_id, unknown, 0, 0, 0, null, unknown);
    end if;
    s.model_calls := s.model_calls + unknown;
    s.unknown_calls := s.unknown_calls + unknown;
  end if;
end $$;

-- What an ending invocation used.
create function holdfast.used_by_1(session text, invocation text) returns text language plpgsql stable as $$
declare
  r holdfast.runs;
begin
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = invocation;
  if not found then
    raise exception using errcode = 'HF002', message = format('invocation %s is not in the store', invocation);
  end if;
  return holdfast.usage_of_1(r);
end $$;

-- When somebody last worked on a run, as far as the store knows.
create function holdfast.last_sign_1(r holdfast.runs, newest holdfast.ledger) returns timestamptz
language plpgsql stable as $$
declare
  sign timestamptz := greatest(r.created_at, newest.started_at, newest.settled_at);
  of_call timestamptz;
begin
  for n in 1 .. coalesce(cardinality(newest.call_keys), 0) loop
    select greatest(l.started_at, l.settled_at) into of_call
      from holdfast.ledger l where l.session_id = r.session_id and l.key = newest.call_keys[n];
    sign := greatest(sign, of_call);
  end loop;
  return sign;
end $$;

-- Ends what other invocations left running: their open calls get a response that says so.
create function holdfast.heal_1(inout s holdfast.sessions, invocation text) language plpgsql as $$
declare
  broken holdfast.runs[] := '{}';
  r holdfast.runs;
  newest holdfast.ledger;
  last_sign timestamptz;
begin
  -- All are counted before the first outcome is written: a child's calls are its invocation's too.
  for r in
    select * from holdfast.runs t
    where t.session_id = s.id and t.status = 'running' and t.invocation_id <> invocation
    order by t.first_seq, t.run_key
  loop
    broken := array_append(broken, r);
    newest := holdfast.newest_step_1(s.id, r.run_key, r.step);
    s := holdfast.count_unknown_1(s, r, newest);
    last_sign := greatest(last_sign, holdfast.last_sign_1(r, newest));
  end loop;
  foreach r in array broken loop
    s := holdfast.append_last_responses_1(s, r, holdfast.newest_step_1(s.id, r.run_key, r.step), null);
    if r.run_key = r.invocation_id then
      -- Nobody worked on it between the last sign of life and now.
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, last_sign);
    end if;
    update holdfast.runs t set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = ('{"status":"interrupted","usage":' || holdfast.used_by_1(s.id, r.invocation_id) || '}')::json
      where t.session_id = s.id and t.run_key = r.run_key;
  end loop;
end $$;

-- \`ending_head\` is an object without its closing brace: what the invocation used is known only here.
create function holdfast.settle_step_1(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  agent text, keys text[], steps int[], indexes int[], call_ids text[], tools text[], errors text[],
  ending_status text, ending_head text, cut_off text, author text, branch text, error_event json, delta jsonb
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  taken record;
  newest holdfast.ledger;
  before bigint;
  settled json;
  ending json;
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  if r.status <> 'running' then
    return json_build_object('seq', r.last_seq, 'from', r.first_seq, 'outcome', r.outcome);
  end if;
  before := s.last_seq;
  s := holdfast.pass_fences_1(s, r, invocation, run, at_step, fence_started_at, fence_invocation, seq);
  if r.run_key is null then
    -- It ends before it began: what was accepted for it belongs to the transcript all the same.
    taken := holdfast.take_message_1(session, invocation, s.last_seq + 1, gen_random_uuid(), true);
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked,
        fence_started_at, fence_invocation, step, agent, message_seq, first_seq, last_seq)
      values (session, run, invocation, taken.message_id, taken.digest, taken.asked, fence_started_at, fence_invocation,
        at_step, agent, case when taken.delta is not null then s.last_seq + 1 end, s.last_seq + 1, s.last_seq)
      returning * into r;
    if taken.delta is not null then
      s.last_seq := s.last_seq + 1;
      s.state := s.state || holdfast.apply_delta_1(s, invocation, taken.delta);
    end if;
  else
    update holdfast.runs t set fence_started_at = fence_started_at, fence_invocation = fence_invocation, step = at_step
      where t.session_id = session and t.run_key = run;
  end if;

  with written as (
    insert into holdfast.ledger as l
      (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at)
      select session, u.key, 'call', run, u.step, u.idx, u.call_id, u.tool, 'settled',
        json_build_object('error', u.error), true, '{}', clock_timestamp()
      from unnest(keys, steps, indexes, call_ids, tools, errors) u (key, step, idx, call_id, tool, error)
      order by u.key
      on conflict on constraint ledger_pkey do update set status = 'settled', response = excluded.response,
        failed = true, actions = '{}', settled_at = excluded.settled_at
        where l.status <> 'settled'
      returning l.key, l.tool
  ) select json_agg(json_build_array(w.key, w.tool)) into settled from written w;

  if ending_status is not null then
    newest := holdfast.newest_step_1(session, run, greatest(at_step, r.step));
    s := holdfast.count_unknown_1(s, r, newest);
    s := holdfast.append_last_responses_1(s, r, newest, cut_off);
    if error_event is not null then
      s.last_seq := s.last_seq + 1;
      insert into holdfast.events
        (session_id, seq, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
        values (session, s.last_seq, invocation, run, at_step, 'error', author, branch, error_event,
          'error:' || run || '.' || at_step);
      if delta is not null then
        s.state := s.state || holdfast.apply_delta_1(s, invocation, delta);
      end if;
    end if;
    if run = invocation then
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, clock_timestamp());
    end if;
    ending := (ending_head || ',"usage":' || holdfast.used_by_1(session, invocation) || '}')::json;
    update holdfast.runs t set status = ending_status, outcome = ending, last_seq = s.last_seq, temp = '{}',
        agent = coalesce(t.agent, agent), ended_at = clock_timestamp()
      where t.session_id = session and t.run_key = run;
  end if;
  perform holdfast.save_session_1(s);
  return json_build_object('seq', s.last_seq, 'from', r.first_seq, 'outcome', ending,
    'appended', s.last_seq > before, 'settled', settled);
end $$;
`;
