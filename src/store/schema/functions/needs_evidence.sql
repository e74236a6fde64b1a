-- Whether a call may begin only by what signatures prove: an entry names somebody who has signed, or the tool is to run by an
-- approval that counts only by signatures, or has changed the arguments.
create or replace function holdfast.needs_evidence(session text, of_key text, entries json, closes boolean) returns boolean
language sql stable as $$
  select exists (select from json_array_elements(entries) e where e.value #>> '{by,verified}' = 'true')
    or not closes and exists (
      select from holdfast.requests_of_call(session, of_key) q
      where q.kind = 'confirmation' and (
        q.status = 'approved' and (q.edited_args is not null or holdfast.needs_signatures(q.terms))
        or exists (
          select from json_array_elements(entries) e
          where e.value ->> 'requestId' = q.request_id and e.value ->> 'kind' = 'approved'
            and ((e.value -> 'args') is not null or holdfast.needs_signatures(q.terms)))))
$$;
