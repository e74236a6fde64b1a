-- Text of JSON.
create or replace function holdfast.usage_of(r holdfast.runs) returns text language sql stable as $$
  select '{"modelCalls":' || r.model_calls || ',"promptTokens":' || r.prompt_tokens || ',"outputTokens":' || r.output_tokens
    || ',"totalTokens":' || r.total_tokens || coalesce(',"cost":' || to_json(r.cost), '')
    || case when r.unknown_calls > 0 then ',"unknownCalls":' || r.unknown_calls else '' end || '}'
$$;
