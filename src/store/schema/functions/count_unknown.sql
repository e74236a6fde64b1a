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
