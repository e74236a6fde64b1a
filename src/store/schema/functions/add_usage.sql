-- Counts what a run has used, and returns the run.
create or replace function holdfast.add_usage(session text, run text, model_calls bigint, prompt_tokens bigint,
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
