-- Calls of a step that have no outcome get what their jobs have come to, or an error: the end of their turn cuts them off.
create or replace function holdfast.settle_open_calls(planned holdfast.ledger, error text) returns void language plpgsql as $$
declare
  closed text[];
begin
  with written as (
    insert into holdfast.ledger as l
      (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at, cut_off)
    select planned.session_id, c.key, 'call', planned.run_key, planned.step, (c.n - 1)::int, c.call_id, c.tool, 'settled',
      coalesce(o.response, json_build_object('error', error)), coalesce(o.failed, true), '{}', clock_timestamp(), true
    from unnest(planned.call_keys, planned.call_ids, planned.call_tools) with ordinality c (key, call_id, tool, n)
    cross join lateral holdfast.outcome_of_call(planned.session_id, c.key) o
    order by c.key
    on conflict on constraint ledger_pkey do update set
      status = 'settled', response = excluded.response, failed = excluded.failed,
      actions = holdfast.kept_actions(l.prepared), settled_at = excluded.settled_at, cut_off = true
      where l.status <> 'settled'
    returning l.key
  ) select array_agg(w.key) into closed from written w;
  if closed is not null then
    -- Of this moment: a job that was begun meanwhile had the call's row.
    perform holdfast.cut_off_jobs(planned.session_id, closed);
  end if;
end $$;
