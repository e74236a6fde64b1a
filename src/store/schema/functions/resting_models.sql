-- Milliseconds by key; 0 where the wait is over and no answer has come since.
create or replace function holdfast.resting_models() returns json language plpgsql volatile as $$
declare
  at timestamptz := clock_timestamp();
begin
  return (
    select json_object_agg(l.key, greatest(ceil(extract(epoch from l.until - at) * 1000), 0))
    from holdfast.model_limits l
    where l.until > at or l.refusals > 0 and l.until > at - interval '10 minutes'
  );
end $$;
