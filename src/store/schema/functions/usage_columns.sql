-- What a run has used, in the order in which readers expect it.
create or replace function holdfast.usage_columns(r holdfast.runs) returns json language sql stable as $$
  select json_build_array(r.model_calls, r.prompt_tokens, r.output_tokens, r.total_tokens, r.cost, r.unknown_calls)
$$;
