-- A turn's invocations: the one that is asked for and all its retries.
create or replace function holdfast.generations(session text, at_seq bigint, invocation text) returns text[]
language plpgsql stable as $$
declare
  first text;
begin
  select r.origin into first
    from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.origin from holdfast.runs t where t.session_id = l.of_session and t.run_key = invocation offset 0
    ) r;
  first := coalesce(first, invocation);
  return first || array(
    select r.run_key from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.run_key from holdfast.runs t where t.session_id = l.of_session and t.origin = first offset 0
    ) r
  );
end $$;
