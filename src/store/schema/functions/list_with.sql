-- JSON text of one element more at the end of a list.
create or replace function holdfast.list_with(list json, element text) returns json language sql immutable as $$
  select (case when list::text = '[]' then '[' else left(list::text, -1) || ',' end || element || ']')::json
$$;
