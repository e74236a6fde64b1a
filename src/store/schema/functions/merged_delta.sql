-- State deltas as one, so that shared keys are locked in one order; the last value of a key counts.
create or replace function holdfast.merged_delta(deltas jsonb) returns jsonb language plpgsql immutable as $$
begin
  return coalesce((
    select jsonb_object_agg(k.key, k.value order by d.n)
    from jsonb_array_elements(deltas) with ordinality d (value, n) cross join lateral jsonb_each(d.value) k
  ), '{}');
end $$;
