-- Milliseconds for which the model rests from now on. Requests that were under way when a limit began are refused as well:
-- they make it no longer, unless the provider says so.
create or replace function holdfast.limit_model(of_key text, named_ms bigint, longest_ms bigint) returns bigint
language plpgsql as $$
declare
  l holdfast.model_limits;
  at timestamptz;
  new_refusals int := 1;
  new_until timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.model_limits ' || of_key, 0));
  select * into l from holdfast.model_limits t where t.key = of_key;
  at := clock_timestamp();
  if l.until > at then
    new_refusals := l.refusals;
    new_until := greatest(l.until, at + coalesce(named_ms, 0) * interval '1 millisecond');
  else
    if l.until > at - interval '10 minutes' then
      new_refusals := least(l.refusals + 1, 30);
    end if;
    new_until := at + coalesce(named_ms, least(1000 * 2 ^ (new_refusals - 1), longest_ms)) * interval '1 millisecond';
  end if;
  insert into holdfast.model_limits as t (key, until, refusals) values (of_key, new_until, new_refusals)
    on conflict (key) do update set until = excluded.until, refusals = excluded.refusals;
  return ceil(extract(epoch from new_until - at) * 1000);
end $$;
