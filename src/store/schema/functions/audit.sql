-- A row of the audit without content that could be dropped.
create or replace function holdfast.audit(session text, kind text, facts json) returns void language plpgsql as $$
begin
  perform holdfast.append_audit(session, kind, (
    select string_agg(to_json(f.key)::text || ':' || f.value, ',' order by f.key collate "C") from json_each(facts) f
  ), null, null, null);
end $$;
