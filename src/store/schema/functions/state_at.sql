-- A session's own state as it was at a seq. What a rewind hides isn't skipped: its marker carries what it restores.
create or replace function holdfast.state_at(session text, at_seq bigint) returns jsonb language plpgsql stable as $$
begin
  return (select s.initial from holdfast.sessions s where s.id = session) || coalesce((
    select jsonb_object_agg(d.key, d.value::jsonb order by e.seq)
    from holdfast.lineage(session, at_seq) l
    cross join lateral (
      select t.seq, t.body #> '{actions,stateDelta}' as delta
      from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
    ) e
    cross join lateral json_each(case when json_typeof(e.delta) = 'object' then e.delta end) d
    where d.key !~ '^(app|user|temp):'
  ), '{}');
end $$;
