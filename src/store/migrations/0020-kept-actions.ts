/** What callbacks did when a call was planned is done, whatever becomes of the call. */
export const keptActions = `
-- Without what says how a turn goes on: nobody follows that any more.
create function holdfast.kept_actions_1(prepared jsonb) returns jsonb language sql immutable as $$
  select coalesce(prepared, '{}') - '{skipSummarization,transferToAgent,escalate}'::text[]
$$;

-- Of calls that nobody settled: what is given, or else what was done when they were planned.
create function holdfast.unsettled_actions_1(session text, keys text[], actions json) returns json language sql stable as $$
  select coalesce(json_agg(case when u.given::text <> '{}' then u.given else holdfast.kept_actions_1((
      select l.prepared from holdfast.ledger l where l.session_id = session and l.key = keys[u.n]
    ))::json end order by u.n), '[]')
  from json_array_elements(actions) with ordinality u (given, n)
$$;

create or replace function holdfast.settle_open_calls_1(session text, run text, of_step int, keys text[], ids text[],
  tools text[], error text) returns void language plpgsql as $$
begin
  insert into holdfast.ledger as l
    (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at, cut_off)
  select session, c.key, 'call', run, of_step, (c.n - 1)::int, c.call_id, c.tool,
    'settled', json_build_object('error', error), true, '{}', clock_timestamp(), true
  from unnest(keys, ids, tools) with ordinality c (key, call_id, tool, n)
  order by c.key
  on conflict on constraint ledger_pkey do update set
    status = 'settled', response = excluded.response, failed = true, actions = holdfast.kept_actions_1(l.prepared),
    settled_at = excluded.settled_at, cut_off = true
    where l.status <> 'settled';
end $$;
`;
