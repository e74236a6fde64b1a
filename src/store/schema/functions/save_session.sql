-- Writes what a turn changes of a session.
create or replace function holdfast.save_session(s holdfast.sessions) returns void language plpgsql as $$
begin
  update holdfast.sessions set last_seq = s.last_seq, state = s.state, last_agent = s.last_agent,
    fence_started_at = s.fence_started_at, fence_invocation = s.fence_invocation, model_calls = s.model_calls,
    prompt_tokens = s.prompt_tokens, output_tokens = s.output_tokens, total_tokens = s.total_tokens, cost = s.cost,
    unknown_calls = s.unknown_calls, busy_ms = s.busy_ms, updated_at = clock_timestamp()
  where id = s.id;
end $$;
