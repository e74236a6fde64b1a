-- A JSON object with another value of one field; the others keep their texts and their order.
create or replace function holdfast.json_with(object json, field text, content json) returns json language sql immutable as $$
  select json_object_agg(f.key, case f.key when field then content else f.value end order by f.n)
  from json_each(object) with ordinality f (key, value, n)
$$;
