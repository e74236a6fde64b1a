/** Longer than any link lives, milliseconds. */
const KEPT = 8 * 86_400_000;
/** Milliseconds after which a gateway that has taken a link, and said nothing more, is gone. */
const LONGEST_DECISION = 120_000;

/** Links that were used: each decides once. */
export const usedLinks = `
-- \`holder\`: who is deciding by it, or has; times in milliseconds since the epoch.
create table holdfast.used_links (
  jti text collate "C" primary key,
  request text collate "C" not null,
  holder text collate "C" not null,
  used_at bigint not null,
  outcome text
) with (fillfactor = 80);
create index used_links_by_time on holdfast.used_links (used_at);

-- Null for the holder that may decide by it now; else how it was used.
create function holdfast.take_link_1(of_jti text, of_request text, of_holder text) returns json language plpgsql as $$
declare
  now bigint := holdfast.now_ms_1();
  l holdfast.used_links;
begin
  delete from holdfast.used_links t where t.used_at < now - ${KEPT};
  loop
    insert into holdfast.used_links as t (jti, request, holder, used_at) values (of_jti, of_request, of_holder, now)
      on conflict (jti) do update set holder = excluded.holder, used_at = excluded.used_at
      where t.outcome is null and t.used_at < now - ${LONGEST_DECISION};
    select * into l from holdfast.used_links t where t.jti = of_jti;
    -- Given back in between.
    exit when found;
  end loop;
  if l.holder = of_holder then
    return null;
  end if;
  return json_build_object('at', l.used_at, 'outcome', l.outcome);
end $$;
`;
