-- What a message's function response says.
create or replace function holdfast.response_of(said json) returns json language sql immutable as $$
  select case json_typeof(said -> 'response') when 'object' then said -> 'response' else '{}' end
$$;
