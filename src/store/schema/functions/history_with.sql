-- An entry more, without what the person gave, and of the decisions that don't count only the newest.
create or replace function holdfast.history_with(history json, entry json) returns json language plpgsql stable as $$
declare
  longer json := holdfast.list_with(history, '{' || concat_ws(',', '"entryId":' || (entry -> 'entryId'),
    '"kind":' || (entry -> 'kind'), '"at":' || (entry -> 'at'), '"by":' || (entry -> 'by'),
    '"confirmed":' || (entry -> 'confirmed'), '"reason":' || (entry -> 'reason')) || '}');
begin
  if entry ->> 'kind' <> 'refused' then
    return longer;
  end if;
  return (
    select json_agg(h.value order by h.n) from (
      select u.value, u.n, row_number() over (partition by u.value ->> 'kind' = 'refused' order by u.n desc) as nth
      from json_array_elements(longer) with ordinality u (value, n)
    ) h
    where h.value ->> 'kind' <> 'refused' or h.nth <= 20
  );
end $$;
