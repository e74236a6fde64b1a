-- Events that no rewind up to the seq hides.
create or replace function holdfast.visible(session text, at_seq bigint)
returns table (seq bigint, kind text, invocation_id text, run_key text, step int, author text)
language plpgsql stable as $$
begin
  return query
    select v.seq, v.kind, v.invocation_id, v.run_key, v.step, v.author from (
      select e.*, min(e.hides_after) over (order by e.seq desc) as hides_after_all
      from holdfast.lineage(session, at_seq) l
      cross join lateral (
        select t.seq, t.kind, t.invocation_id, t.run_key, t.step, t.author, t.hides_after
        from holdfast.events t where t.session_id = l.of_session and t.seq <= l.up_to offset 0
      ) e
    ) v
    where v.hides_after_all is null or v.seq <= v.hides_after_all;
end $$;
