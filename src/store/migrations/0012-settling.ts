import { CUT_OFF } from './cut-off.ts';

/** Callbacks answer for calls that nobody settled, and what ends a turn is more than one event. */
export const settling = `
-- As settle_step_1, with other outcomes than errors, other responses than merged ones, and any number of events. Requests of
-- what is settled are cancelled.
-- \`ending_head\` is an object without its closing brace: what the invocation used is known only here.
create function holdfast.settle_step_2(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  agent text, keys text[], steps int[], indexes int[], call_ids text[], tools text[], call_responses json,
  failed boolean[], actions json, parts json, ending_status text, ending_head text, cut_off text,
  responses_author text, responses_branch text, responses json, responses_delta jsonb,
  kinds text[], authors text[], branches text[], bodies json, deltas jsonb
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  taken record;
  newest holdfast.ledger;
  before bigint;
  given jsonb;
  delta jsonb := '{}';
  e record;
  event_key text;
  nth int;
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

  if keys <> '{}' then
    with written as (
      insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, response,
          failed, actions, parts, settled_at)
        select session, u.key, 'call', run, u.step, u.idx, u.call_id, u.tool, 'settled', u.response, u.failed,
          u.actions::jsonb, case when json_typeof(u.parts) <> 'null' then u.parts end, clock_timestamp()
        from rows from (unnest(keys, steps, indexes, call_ids, tools, failed), json_array_elements(call_responses),
            json_array_elements(actions), json_array_elements(parts))
          u (key, step, idx, call_id, tool, failed, response, actions, parts)
        order by u.key
        on conflict on constraint ledger_pkey do update set status = 'settled', response = excluded.response,
          failed = excluded.failed, actions = excluded.actions, parts = excluded.parts, settled_at = excluded.settled_at
          where l.status <> 'settled'
        returning l.key, l.tool, l.failed
    ) select json_agg(json_build_array(w.key, w.tool, w.failed)) into settled from written w;
    perform holdfast.cancel_requests_1(session, invocation, run, keys);
  end if;

  if ending_status is not null then
    newest := holdfast.newest_step_1(session, run, greatest(at_step, r.step));
    s := holdfast.count_unknown_1(s, r, newest);
    if responses is not null and newest.call_keys is not null then
      s.last_seq := s.last_seq + 1;
      perform holdfast.append_given_responses_1(session, run, invocation, newest.step, newest.call_keys,
        newest.call_ids, newest.call_tools, s.last_seq, gen_random_uuid(), coalesce(cut_off, '${CUT_OFF}'),
        newest.of_run, newest.of_step, responses_author, responses_branch, responses);
      s.state := s.state || holdfast.apply_delta_1(s, invocation, coalesce(responses_delta, '{}'));
    else
      s := holdfast.append_last_responses_1(s, r, newest, cut_off);
    end if;
    for e in
      select u.* from rows from (unnest(kinds, authors, branches), json_array_elements(bodies))
        with ordinality u (kind, author, branch, body, n) order by u.n
    loop
      -- The step may have events of the kind already.
      nth := 1;
      event_key := e.kind || ':' || run || '.' || at_step;
      while exists (select from holdfast.events t where t.dedupe_key = event_key and t.session_id = session) loop
        nth := nth + 1;
        event_key := e.kind || ':' || run || '.' || at_step || '.' || nth;
      end loop;
      s.last_seq := s.last_seq + 1;
      insert into holdfast.events
        (session_id, seq, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
        values (session, s.last_seq, invocation, run, at_step, e.kind, e.author, e.branch, e.body, event_key);
    end loop;
    if deltas is not null then
      for given in select d.value from jsonb_array_elements(deltas) d where d.value <> 'null' loop
        delta := delta || given;
      end loop;
      s.state := s.state || holdfast.apply_delta_1(s, invocation, delta);
    end if;
    if run = invocation then
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, clock_timestamp());
    end if;
    ending := (ending_head || ',"usage":' || holdfast.used_by_1(session, invocation) || '}')::json;
    perform holdfast.cancel_requests_1(session, invocation, run, null);
    update holdfast.runs t set status = ending_status, outcome = ending, last_seq = s.last_seq, temp = '{}',
        agent = coalesce(t.agent, agent), ended_at = clock_timestamp()
      where t.session_id = session and t.run_key = run;
  end if;
  perform holdfast.save_session_1(s);
  return json_build_object('seq', s.last_seq, 'from', r.first_seq, 'outcome', ending,
    'appended', s.last_seq > before, 'settled', settled);
end $$;
`;
