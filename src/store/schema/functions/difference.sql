-- What turns one state into another; a key that the other one lacks becomes null.
create or replace function holdfast.difference(present jsonb, past jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  return coalesce((
    select jsonb_object_agg(k.key, coalesce(past -> k.key, 'null'))
    from jsonb_object_keys(present || past) k (key)
    where coalesce(present -> k.key, 'null') <> coalesce(past -> k.key, 'null')
  ), '{}');
end $$;
