-- A voter has one vote, and who decides has voted; whoever takes it back can vote again.
create or replace function holdfast.votes_with(votes json, history json, entry json) returns json language plpgsql stable as $$
declare
  voter text := entry #>> '{by,principal}';
  verified text := entry #>> '{by,verified}';
  kind text := entry ->> 'kind';
  others json := votes;
begin
  if voter is null or kind not in ('voted', 'withdrawn', 'approved', 'rejected', 'answered') then
    return votes;
  end if;
  if votes::text <> '[]' then
    others := (
      select coalesce(json_agg(v.value order by v.n), '[]') from json_array_elements(votes) with ordinality v (value, n)
      where (v.value #>> '{by,principal}', v.value #>> '{by,verified}') is distinct from (voter, verified)
    );
  end if;
  if kind = 'withdrawn' then
    return others;
  elsif json_array_length(others) < json_array_length(votes) then
    return votes;
  elsif kind = 'voted' and history::text <> '[]' and exists (
      select from json_array_elements(history) h
      where h.value #>> '{by,attestation}' = entry #>> '{by,attestation}' and h.value ->> 'kind' <> 'refused') then
    return votes;
  end if;
  return holdfast.list_with(votes, '{' || concat_ws(',', '"by":' || (entry -> 'by'),
    '"confirmed":' || coalesce((entry -> 'confirmed')::text, (kind <> 'rejected')::text), '"at":' || (entry -> 'at'),
    '"of":' || (entry -> 'of')) || '}');
end $$;
