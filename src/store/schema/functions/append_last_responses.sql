-- Appends the responses of a run's newest step, where it has calls, with a text for those that are open.
create or replace function holdfast.append_last_responses(inout s holdfast.sessions, r holdfast.runs, newest holdfast.ledger,
  cut_off text, given json) language plpgsql as $$
declare
  delta jsonb;
begin
  if newest.call_keys is null then
    return;
  end if;
  s.last_seq := s.last_seq + 1;
  select t.delta into delta from holdfast.append_responses(newest, r.invocation_id, s.last_seq, gen_random_uuid(),
    coalesce(cut_off, holdfast.cut_off_text()), given) t;
  if delta <> '{}' then
    s.state := s.state || holdfast.apply_delta(s, r.invocation_id, delta);
  end if;
end $$;
