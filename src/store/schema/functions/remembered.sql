-- Null of nearly all runs. Volatile, so that it sees what the statement that it stands in has waited for.
create or replace function holdfast.remembered(session text, run text) returns json language plpgsql as $$
#variable_conflict use_variable
begin
  return (
    select json_build_object(
      'toolEdits', (array_agg(l.tool_edits order by l.step desc) filter (where l.tool_edits is not null))[1],
      'ends', coalesce(bool_or(l.ends), false))
    from holdfast.ledger l
    where l.session_id = session and l.run_key = run and l.kind = 'step' and (l.tool_edits is not null or l.ends)
    having count(*) > 0);
end $$;
