-- What a called agent uses its caller uses, and so on up to the root. The session goes before its runs, as everywhere.
create or replace function holdfast.add_usage_above() returns trigger language plpgsql as $$
declare
  paid double precision := case when new.cost is distinct from old.cost then coalesce(new.cost, 0) - coalesce(old.cost, 0) end;
begin
  update holdfast.sessions t set model_calls = t.model_calls + new.model_calls - old.model_calls,
      prompt_tokens = t.prompt_tokens + new.prompt_tokens - old.prompt_tokens,
      output_tokens = t.output_tokens + new.output_tokens - old.output_tokens,
      total_tokens = t.total_tokens + new.total_tokens - old.total_tokens,
      unknown_calls = t.unknown_calls + new.unknown_calls - old.unknown_calls,
      cost = coalesce(t.cost + paid, t.cost, paid), updated_at = clock_timestamp()
    where t.id = new.caller_session;
  update holdfast.runs t set model_calls = t.model_calls + new.model_calls - old.model_calls,
      prompt_tokens = t.prompt_tokens + new.prompt_tokens - old.prompt_tokens,
      output_tokens = t.output_tokens + new.output_tokens - old.output_tokens,
      total_tokens = t.total_tokens + new.total_tokens - old.total_tokens,
      unknown_calls = t.unknown_calls + new.unknown_calls - old.unknown_calls,
      cost = coalesce(t.cost + paid, t.cost, paid)
    where t.session_id = new.caller_session and t.run_key in (new.caller_run, new.caller_invocation);
  return null;
end $$;
create or replace trigger runs_use_above after update on holdfast.runs for each row
  when (new.caller_session is not null
    and (new.model_calls, new.prompt_tokens, new.output_tokens, new.total_tokens, new.unknown_calls, new.cost)
      is distinct from (old.model_calls, old.prompt_tokens, old.output_tokens, old.total_tokens, old.unknown_calls, old.cost))
  execute function holdfast.add_usage_above();
