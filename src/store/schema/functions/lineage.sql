-- A session and those that it was forked from, the newest first, each with the last seq that counts. Without a seq: all.
create or replace function holdfast.lineage(session text, at_seq bigint) returns table (of_session text, up_to bigint)
language plpgsql stable rows 2 as $$
begin
  of_session := session;
  up_to := coalesce(at_seq, 9223372036854775807);
  while of_session is not null loop
    return next;
    select s.parent_id, least(up_to, s.parent_seq) into of_session, up_to
      from holdfast.sessions s where s.id = of_session;
  end loop;
end $$;
