-- Null for the holder that may decide by it now; else how it was used.
create or replace function holdfast.take_link(of_jti text, of_request text, of_holder text) returns json language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
  l holdfast.used_links;
begin
  delete from holdfast.used_links t where t.used_at < now - 8 * 86400000::bigint;
  loop
    insert into holdfast.used_links as t (jti, request, holder, used_at) values (of_jti, of_request, of_holder, now)
      on conflict (jti) do update set holder = excluded.holder, used_at = excluded.used_at
      where t.outcome is null and t.used_at < now - 120000;
    select * into l from holdfast.used_links t where t.jti = of_jti;
    -- Given back in between.
    exit when found;
  end loop;
  if l.holder = of_holder then
    return null;
  end if;
  return json_build_object('at', l.used_at, 'outcome', l.outcome);
end $$;
