-- Ends runs of a session as interrupted, those of agents that their calls have run before them: open calls get a response
-- that says so, and requests are cancelled.
create or replace function holdfast.interrupt_runs(inout s holdfast.sessions, broken text[], below text[]) language plpgsql as $$
declare
  r holdfast.runs;
  one text;
  newest holdfast.ledger;
  last_sign timestamptz;
begin
  foreach one in array below loop
    perform holdfast.end_called(one);
  end loop;
  if below <> '{}' then
    select t.model_calls, t.prompt_tokens, t.output_tokens, t.total_tokens, t.cost, t.unknown_calls
      into s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls
      from holdfast.sessions t where t.id = s.id;
  end if;
  -- All are counted before the first outcome is written: a child's calls are its invocation's too.
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    newest := holdfast.newest_step(s.id, r.run_key, r.step);
    s := holdfast.count_unknown(s, r, newest);
    last_sign := greatest(last_sign, holdfast.last_sign(r, newest));
  end loop;
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    s := holdfast.append_last_responses(s, r, holdfast.newest_step(s.id, r.run_key, r.step), null, null);
    if r.run_key = r.invocation_id then
      -- Nobody worked on it between the last sign of life and now.
      s.busy_ms := s.busy_ms + holdfast.ms_between(r.created_at, last_sign);
    end if;
    perform holdfast.cancel_requests(s.id, r.invocation_id, r.run_key, null);
    update holdfast.runs t set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = ('{"status":"interrupted","usage":' || holdfast.used_by(s.id, r.invocation_id) || '}')::json
      where t.session_id = s.id and t.run_key = r.run_key;
  end loop;
end $$;
