import { EFFECT, ENDED } from './entry-effect.ts';

const MOST_REFUSED = 20;

/** What happens to requests. */
export const entries = `
-- JSON text of one element more at the end of a list.
create function holdfast.list_with_1(list json, element text) returns json language sql immutable as $$
  select (case when list::text = '[]' then '[' else left(list::text, -1) || ',' end || element || ']')::json
$$;

-- An entry more, and of the decisions that don't count only the newest.
create function holdfast.history_with_1(history json, f jsonb) returns json language plpgsql stable as $$
declare
  entry text := '{' || concat_ws(',', '"entryId":' || (f -> 'entryId')::text, '"kind":' || (f -> 'kind')::text, '"at":' || (f -> 'at')::text,
    '"by":' || (f -> 'by')::text, '"confirmed":' || (f -> 'confirmed')::text, '"reason":' || (f -> 'reason')::text) || '}';
begin
  if f ->> 'kind' <> 'refused' then
    return holdfast.list_with_1(history, entry);
  end if;
  return (
    select json_agg(h.value order by h.n) from (
      select u.value, u.n, row_number() over (partition by u.value ->> 'kind' = 'refused' order by u.n desc) as nth
      from json_array_elements(holdfast.list_with_1(history, entry)) with ordinality u (value, n)
    ) h
    where h.value ->> 'kind' <> 'refused' or h.nth <= ${MOST_REFUSED}
  );
end $$;

-- A voter has one vote, and who decides has voted; whoever takes it back can vote again.
create function holdfast.votes_with_1(votes json, history json, f jsonb) returns json language plpgsql stable as $$
declare
  voter text := f #>> '{by,principal}';
  verified text := f #>> '{by,verified}';
  of_kind text := f ->> 'kind';
  others json := votes;
begin
  if voter is null or of_kind not in ('voted', 'withdrawn', 'approved', 'rejected', 'answered') then
    return votes;
  end if;
  if votes::text <> '[]' then
    others := (
      select coalesce(json_agg(v.value order by v.n), '[]') from json_array_elements(votes) with ordinality v (value, n)
      where (v.value #>> '{by,principal}', v.value #>> '{by,verified}') is distinct from (voter, verified)
    );
  end if;
  if of_kind = 'withdrawn' then
    return others;
  elsif json_array_length(others) < json_array_length(votes) then
    return votes;
  elsif of_kind = 'voted' and history::text <> '[]' and exists (
      select from json_array_elements(history) h
      where h.value #>> '{by,attestation}' = f #>> '{by,attestation}' and h.value ->> 'kind' <> 'refused') then
    return votes;
  end if;
  return holdfast.list_with_1(votes, '{' || concat_ws(',', '"by":' || (f -> 'by')::text,
    '"confirmed":' || coalesce((f -> 'confirmed')::text, (of_kind <> 'rejected')::text), '"at":' || (f -> 'at')::text, '"of":' || (f -> 'of')::text)
    || '}');
end $$;

-- What an entry says in answer to a question: itself, or by a reference to what is kept.
create function holdfast.response_of_1(session text, e json, f jsonb) returns json language plpgsql stable as $$
#variable_conflict use_variable
declare
  kept json;
begin
  if not f ? 'responseRef' then
    return case when f ? 'response' then e -> 'response' end;
  end if;
  select r.response into kept from holdfast.responses r where r.ref = f ->> 'responseRef' and r.session_id = session;
  if not found then
    raise exception using errcode = 'HF002', message = format('the answer %s is not in the store', f ->> 'responseRef');
  end if;
  return kept;
end $$;

-- The time is part of what an entry is known by: a workflow that was reset gives its entries' ids again. False where it is there.
create function holdfast.audit_entry_1(session text, e json, f jsonb, response json, shown_args json, sensitive json)
returns boolean language plpgsql as $$
declare
  content text := concat_ws(',', '"reason":' || (f -> 'reason')::text, '"response":' || response);
begin
  if f ? 'payload' then
    content := concat_ws(',', nullif(content, ''), '"payload":' || (e -> 'payload'));
  end if;
  if f ? 'args' then
    content := concat_ws(',', nullif(content, ''), '"before":' || holdfast.shown_args_1(shown_args, sensitive),
      '"after":' || holdfast.shown_args_1(e -> 'args', sensitive));
  end if;
  return holdfast.audit_2(session, f ->> 'kind',
    concat_ws(',', '"at":' || (f -> 'at')::text, '"attestation":' || (f #> '{by,attestation}')::text, '"by":' || (f #> '{by,principal}')::text,
      '"channel":' || (f #> '{by,channel}')::text, '"confirmed":' || (f -> 'confirmed')::text),
    concat_ws(',', '"credentialRef":' || (f -> 'credentialRef')::text, '"entryId":' || (f -> 'entryId')::text,
      '"requestId":' || (f -> 'requestId')::text, '"responseRef":' || (f -> 'responseRef')::text, '"verified":' || (f #> '{by,verified}')::text),
    '{' || nullif(content, '') || '}', (f ->> 'entryId') || '@' || (f ->> 'at'));
end $$;

create function holdfast.record_entries_1(session text, entries json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  e json;
  f jsonb;
  ends boolean;
  q record;
  response json;
begin
  perform from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  for n in 0 .. json_array_length(entries) - 1 loop
    e := entries -> n;
    f := e::jsonb;
    ends := f ->> 'kind' in ${ENDED};
    select t.status, t.sensitive, case when f ? 'args' then t.args end as args into q
      from holdfast.approvals t where t.request_id = f ->> 'requestId' and t.session_id = session;
    if not found then
      raise exception using errcode = 'HF002', message = format('request %s is not in the store', f ->> 'requestId');
    end if;
    response := holdfast.response_of_1(session, e, f);
    if holdfast.audit_entry_1(session, e, f, response, q.args, q.sensitive) and q.status = 'pending' then
      update holdfast.approvals t set ${EFFECT}
        where t.request_id = f ->> 'requestId' and t.session_id = session;
    end if;
  end loop;
end $$;

-- Of a run, and of all children's where it is an invocation; only those of the given calls, where there are any given.
create function holdfast.cancel_requests_1(session text, invocation text, run text, keys text[]) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  of_request text;
begin
  for of_request in
    select a.request_id from holdfast.approvals a
    where a.session_id = session and a.status = 'pending'
      and (a.run_key = run or run = invocation and a.invocation_id = invocation)
      and (keys is null or a.call_key = any (keys))
    order by a.request_id
  loop
    perform holdfast.record_entries_1(session, json_build_array(json_build_object('entryId', of_request || '/cancelled',
      'requestId', of_request, 'kind', 'cancelled', 'at', holdfast.now_ms_1())));
  end loop;
end $$;
`;
