-- Objects merge, anything else is replaced: at 100 levels objects too, since recursion has an end.
create or replace function holdfast.merge_deltas(older jsonb, newer jsonb, level int) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  if level = 100 or jsonb_typeof(older) <> 'object' or jsonb_typeof(newer) <> 'object' then
    return newer;
  end if;
  return older || newer || coalesce((
    select jsonb_object_agg(n.key, holdfast.merge_deltas(older -> n.key, n.value, level + 1))
    from jsonb_each(newer) n
    where jsonb_typeof(n.value) = 'object' and jsonb_typeof(older -> n.key) = 'object'
  ), '{}');
end $$;
