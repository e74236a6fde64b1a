create or replace function holdfast.now_ms() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- From the database's clock, which may be set back.
create or replace function holdfast.ms_between(earlier timestamptz, later timestamptz) returns bigint language sql immutable as $$
  select greatest((extract(epoch from later - earlier) * 1000)::bigint, 0)
$$;

-- A JSON object with another value of one field; the others keep their texts and their order.
create or replace function holdfast.json_with(object json, field text, content json) returns json language sql immutable as $$
  select json_object_agg(f.key, case f.key when field then content else f.value end order by f.n)
  from json_each(object) with ordinality f (key, value, n)
$$;

-- JSON text of one element more at the end of a list.
create or replace function holdfast.list_with(list json, element text) returns json language sql immutable as $$
  select (case when list::text = '[]' then '[' else left(list::text, -1) || ',' end || element || ']')::json
$$;
