-- Appends the responses of a step's calls, or the event that is given in their place, and gives back the state delta that
-- they carry and the event as readers get it. A call without an outcome gets the text, or is an error where there is none. A
-- retry's first step stands for a step of another run, and answers the model event of that one.
create or replace function holdfast.append_responses(planned holdfast.ledger, invocation text, at_seq bigint, event_id uuid,
  cut_off text, given json, out delta jsonb, out event json) language plpgsql as $$
declare
  a record;
begin
  if cut_off is not null then
    perform holdfast.settle_open_calls(planned, cut_off);
  end if;
  select planned.agent as author, planned.branch as branch, m.body, m.delta into a
    from holdfast.merged_responses(planned, invocation) m;
  if given is not null then
    select t.author, t.branch, t.body, coalesce(t.delta, '{}') as delta into a
      from json_to_record(given) as t(author text, branch text, body json, delta jsonb);
  end if;
  delta := a.delta;
  insert into holdfast.events as e
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
  values (planned.session_id, at_seq, event_id, invocation, coalesce(planned.of_run, planned.run_key),
    coalesce(planned.of_step, planned.step), 'responses', a.author, a.branch, a.body, 'responses:' || planned.key)
  returning holdfast.event_row(e) into event;
end $$;
