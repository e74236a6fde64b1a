-- From the database's clock, which may be set back.
create or replace function holdfast.ms_between(earlier timestamptz, later timestamptz) returns bigint language sql immutable as $$
  select greatest((extract(epoch from later - earlier) * 1000)::bigint, 0)
$$;
