-- What a call that begins is told of one that is settled.
create or replace function holdfast.settled_call(response json, failed boolean, actions jsonb) returns json
language sql immutable as $$
  select json_build_object('settled', true, 'response', response, 'failed', failed, 'actions', actions)
$$;
