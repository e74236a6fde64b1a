-- Without what says how a turn goes on: nobody follows that any more.
create or replace function holdfast.kept_actions(prepared jsonb) returns jsonb language sql immutable as $$
  select coalesce(prepared, '{}') - '{skipSummarization,transferToAgent,escalate}'::text[]
$$;
