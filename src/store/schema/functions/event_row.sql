-- What readers get of an event.
create or replace function holdfast.event_row(e holdfast.events) returns json language sql stable as $$
  select json_build_array(e.seq, e.kind, e.run_key, e.step, e.id,
    floor(extract(epoch from e.created_at) * 1000)::bigint, e.body, e.hides_after)
$$;
