-- Settles calls of a step that no attempt lived to settle, and ends the turn where there is an ending. What the calls' jobs
-- have come to is what they have come to, and jobs that still run end with them; their requests are cancelled. `ending` lacks
-- what the invocation has used, which is known only here.
create or replace function holdfast.settle_step(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  taken record;
  newest holdfast.ledger;
  step_key text;
  before bigint;
  e record;
  nth int;
  settled json;
  ending json;
begin
  select * into a from json_to_record(args) as t(
    session text, invocation text, run_key text, step int, fence_started_at bigint, fence_invocation int, seq bigint,
    agent text, calls json, call_keys text[], ending_status text, ending json, cut_off text, responses json, events json,
    deltas jsonb);
  step_key := a.run_key || '.' || a.step;
  select * into s from holdfast.sessions t where t.id = a.session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  select * into r from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key;
  if r.status <> 'running' then
    return json_build_object('seq', r.last_seq, 'from', r.first_seq, 'outcome', r.outcome,
      'cutOff', holdfast.calls_cut_off(a.session, step_key));
  end if;
  before := s.last_seq;
  s := holdfast.pass_fences(s, r, a.invocation, a.run_key, a.step, a.fence_started_at, a.fence_invocation, a.seq);
  if r.run_key is null then
    -- It ends before it began: what was accepted for it belongs to the transcript all the same.
    taken := holdfast.take_message(a.session, a.invocation, s.last_seq + 1, gen_random_uuid(), true);
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked,
        fence_started_at, fence_invocation, step, agent, message_seq, first_seq, last_seq)
      values (a.session, a.run_key, a.invocation, taken.message_id, taken.digest, taken.asked, a.fence_started_at,
        a.fence_invocation, a.step, a.agent, case when taken.delta is not null then s.last_seq + 1 end, s.last_seq + 1,
        s.last_seq)
      returning * into r;
    if taken.delta is not null then
      s.last_seq := s.last_seq + 1;
      s.state := s.state || holdfast.apply_delta(s, a.invocation, taken.delta);
    end if;
  else
    update holdfast.runs t
      set fence_started_at = a.fence_started_at, fence_invocation = a.fence_invocation, step = a.step
      where t.session_id = a.session and t.run_key = a.run_key;
  end if;

  if a.calls is not null then
    with written as (
      insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, response,
          failed, actions, parts, settled_at)
        select a.session, u.key, 'call', a.run_key, u.step, u.idx, u.call_id, u.tool, 'settled', coalesce(o.response, u.response),
          coalesce(o.failed, u.failed), u.actions, u.parts, clock_timestamp()
        from json_to_recordset(a.calls) as u(
          key text, step int, idx int, call_id text, tool text, response json, failed boolean, actions jsonb, parts json)
        cross join lateral holdfast.outcome_of_call(a.session, u.key) o
        order by u.key
        on conflict on constraint ledger_pkey do update set status = 'settled', response = excluded.response,
          failed = excluded.failed, parts = excluded.parts, settled_at = excluded.settled_at,
          actions = case excluded.actions when '{}' then holdfast.kept_actions(l.prepared) else excluded.actions end
          where l.status <> 'settled'
        returning l.key, l.tool, l.failed
    ) select json_agg(json_build_array(w.key, w.tool, w.failed)) into settled from written w;
    perform holdfast.cancel_requests(a.session, a.invocation, a.run_key, a.call_keys);
    perform holdfast.cut_off_jobs(a.session, array(select t.value ->> 0 from json_array_elements(settled) t));
  end if;

  if a.ending_status is not null then
    newest := holdfast.newest_step(a.session, a.run_key, greatest(a.step, r.step));
    s := holdfast.count_unknown(s, r, newest);
    s := holdfast.append_last_responses(s, r, newest, a.cut_off, a.responses);
    for e in
      select * from json_to_recordset(a.events) as t(id uuid, kind text, author text, branch text, body json)
    loop
      s.last_seq := s.last_seq + 1;
      nth := 1;
      loop
        insert into holdfast.events
          (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
          values (a.session, s.last_seq, e.id, a.invocation, a.run_key, a.step, e.kind, e.author, e.branch, e.body,
            e.kind || ':' || step_key || case when nth = 1 then '' else '.' || nth end)
          on conflict on constraint events_dedupe_key_session_id_key do nothing;
        exit when found;
        -- The step has events of the kind already.
        nth := nth + 1;
      end loop;
    end loop;
    if a.deltas is not null then
      s.state := s.state || holdfast.apply_delta(s, a.invocation, holdfast.merged_delta(a.deltas));
    end if;
    if a.run_key = a.invocation then
      s.busy_ms := s.busy_ms + holdfast.ms_between(r.created_at, clock_timestamp());
    end if;
    ending := (left(a.ending::text, -1) || ',"usage":' || holdfast.used_by(a.session, a.invocation) || '}')::json;
    perform holdfast.cancel_requests(a.session, a.invocation, a.run_key, null);
    update holdfast.runs t set status = a.ending_status, outcome = ending, last_seq = s.last_seq, temp = '{}',
        agent = coalesce(t.agent, a.agent), ended_at = clock_timestamp()
      where t.session_id = a.session and t.run_key = a.run_key;
  end if;
  perform holdfast.save_session(s);
  return json_build_object('seq', s.last_seq, 'from', r.first_seq, 'outcome', ending, 'appended', s.last_seq > before,
    'settled', settled, 'news', holdfast.job_news(a.session, holdfast.cut_off_now()),
    'cutOff', holdfast.calls_cut_off(a.session, step_key));
end $$;
