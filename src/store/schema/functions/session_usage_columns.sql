-- What a session has used, and how long its turns have taken, in the order in which readers expect it.
create or replace function holdfast.session_usage_columns(s holdfast.sessions) returns json language sql stable as $$
  select json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls, s.busy_ms)
$$;
