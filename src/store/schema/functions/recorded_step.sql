-- The answer to a step that has ended. A chain that takes over goes on from here, under its own fence: with a prepared retry, or
-- where another one broke off.
create or replace function holdfast.recorded_step(args json, s holdfast.sessions, r holdfast.runs, recorded holdfast.ledger,
  inbox json, began boolean) returns json language plpgsql as $$
declare
  a record;
  invoked holdfast.runs;
begin
  select * into a from json_to_record(args) as t(
    invocation text, fence_started_at bigint, fence_invocation int, seq bigint, in_tree boolean);
  if (a.fence_started_at, a.fence_invocation) > (r.fence_started_at, r.fence_invocation)
      or recorded.step = 1 and a.fence_invocation <> r.fence_invocation and a.fence_started_at < r.fence_started_at then
    s := holdfast.pass_fences(s, r, a.invocation, r.run_key, recorded.step, a.fence_started_at, a.fence_invocation, a.seq);
    perform holdfast.save_session(s);
    update holdfast.runs t
      set fence_started_at = a.fence_started_at, fence_invocation = a.fence_invocation, step = recorded.step
      where t.session_id = s.id and t.run_key = r.run_key;
  end if;
  select * into invoked from holdfast.runs t where t.session_id = s.id and t.run_key = a.invocation;
  return json_build_object('kind', 'recorded', 'session', s.id, 'seq', recorded.seq, 'from', r.first_seq,
    'agent', recorded.agent, 'outcome', recorded.outcome, 'inbox', inbox, 'startedAt', invoked.fence_started_at,
    'age', holdfast.ms_between(invoked.created_at, clock_timestamp()), 'sessionUsage', holdfast.session_usage_columns(s),
    'tree', case when a.in_tree then holdfast.tree_of_turn(s, a.invocation, began) end);
end $$;
