-- What the model is told of a call that has no outcome of its own.
create or replace function holdfast.cut_off_text() returns text language sql immutable as $$
  select 'this call was cut off by the end of its turn; it may have run'
$$;
