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

-- The usage of a called agent is its caller's, and so on up to the root. The session goes before its runs, as everywhere.
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

-- Counts the attempts of a run's newest step that said nothing before the run ended: each may have asked the model.
create or replace function holdfast.count_unknown(inout s holdfast.sessions, r holdfast.runs, newest holdfast.ledger)
language plpgsql as $$
declare
  unknown int := case when newest.status = 'started' then greatest(newest.attempts - newest.ended, 0) else 0 end;
begin
  if unknown > 0 then
    perform holdfast.add_usage(s.id, r.run_key, unknown, 0, 0, 0, null, unknown);
    if r.run_key <> r.invocation_id then
      perform holdfast.add_usage(s.id, r.invocation_id, unknown, 0, 0, 0, null, unknown);
    end if;
    s.model_calls := s.model_calls + unknown;
    s.unknown_calls := s.unknown_calls + unknown;
  end if;
end $$;

-- Text of JSON.
create or replace function holdfast.usage_of(r holdfast.runs) returns text language sql stable as $$
  select '{"modelCalls":' || r.model_calls || ',"promptTokens":' || r.prompt_tokens || ',"outputTokens":' || r.output_tokens
    || ',"totalTokens":' || r.total_tokens || coalesce(',"cost":' || to_json(r.cost), '')
    || case when r.unknown_calls > 0 then ',"unknownCalls":' || r.unknown_calls else '' end || '}'
$$;

-- The usage of an ending invocation.
create or replace function holdfast.used_by(session text, invocation text) returns text language plpgsql stable as $$
declare
  r holdfast.runs;
begin
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = invocation;
  if not found then
    raise exception using errcode = 'HF002', message = format('invocation %s is not in the store', invocation);
  end if;
  return holdfast.usage_of(r);
end $$;

-- The usage of a run, in the order in which readers expect it.
create or replace function holdfast.usage_columns(r holdfast.runs) returns json language sql stable as $$
  select json_build_array(r.model_calls, r.prompt_tokens, r.output_tokens, r.total_tokens, r.cost, r.unknown_calls)
$$;

-- The usage of a session and the time of its turns, in the order in which readers expect it.
create or replace function holdfast.session_usage_columns(s holdfast.sessions) returns json language sql stable as $$
  select json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls, s.busy_ms)
$$;
