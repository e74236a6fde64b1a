create or replace function holdfast.now_ms() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
