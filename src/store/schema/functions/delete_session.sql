-- Parents are locked before their forks are looked for: a fork that is being made is found, or finds no parent. Only a
-- known session is deleted: the statement may be repeated when another has been made under the name.
create or replace function holdfast.delete_session(name_key text, known text[], with_forks boolean, idle_since timestamptz)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  doomed text[];
  level text[];
  names json;
begin
  level := array(
    select t.id from holdfast.sessions t where t.name_key = name_key and t.id = any (known) for update
  );
  if exists (select from holdfast.sessions t where t.id = any (level) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  while level <> '{}' loop
    doomed := level || doomed;
    level := array(select f.id from (
      select t.id from holdfast.sessions t where t.parent_id = any (level) order by t.id for update
    ) f);
  end loop;
  names := (
    select json_agg(json_build_object('app', t.app, 'userId', t.user_id, 'sessionId', t.name) order by d.n desc)
    from unnest(doomed) with ordinality d (id, n) join holdfast.sessions t on t.id = d.id
  );
  if cardinality(doomed) > 1 and not with_forks then
    return json_build_object('forks', names);
  end if;
  if exists (select from holdfast.sessions t where t.id = any (doomed) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  delete from holdfast.sessions t where t.id = any (doomed);
  return json_build_object('deleted', coalesce(names, '[]'));
end $$;
