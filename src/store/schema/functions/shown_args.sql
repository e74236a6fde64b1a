-- Arguments as people are shown them: `sensitive` is a list of names, or true for all.
create or replace function holdfast.shown_args(args json, sensitive json) returns json language plpgsql immutable as $$
declare
  withheld json := '"(sensitive)"';
begin
  if args is null or json_typeof(sensitive) = 'boolean' then
    return case when sensitive::text = 'true' and args is not null then withheld else args end;
  end if;
  return (
    select coalesce(json_object_agg(a.key, case when sensitive::jsonb ? a.key then withheld else a.value end), '{}')
    from json_each(args) a
  );
end $$;
