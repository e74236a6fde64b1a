const MOST_REFUSED = 20;

const ENDED = `('approved', 'rejected', 'answered', 'expired', 'cancelled')`;

/** What happens to requests. */
export const entries = `
-- An entry more, and of the decisions that don't count only the newest.
create function holdfast.history_with_1(history json, e json) returns json language plpgsql stable as $$
begin
  return (
    select json_agg(h.value order by h.n) from (
      select u.value, u.n, row_number() over (partition by u.value ->> 'kind' = 'refused' order by u.n desc) as nth
      from (
        select t.value, t.n from json_array_elements(history) with ordinality t (value, n)
        union all
        select (
          select json_object_agg(f.key, e -> f.key order by f.n)
          from unnest('{entryId,kind,at,by,confirmed,reason}'::text[]) with ordinality f (key, n)
          where e -> f.key is not null
        ), 1000000
      ) u
    ) h
    where h.value ->> 'kind' <> 'refused' or h.nth <= ${MOST_REFUSED}
  );
end $$;

-- A voter has one vote, and who decides has voted; whoever takes it back can vote again.
create function holdfast.votes_with_1(votes json, history json, e json) returns json language plpgsql stable as $$
declare
  voter text := e #>> '{by,principal}';
  verified text := e #>> '{by,verified}';
  of_kind text := e ->> 'kind';
  confirmed json := coalesce(e -> 'confirmed', to_json(of_kind <> 'rejected'));
  others json := (
    select coalesce(json_agg(v.value order by v.n), '[]') from json_array_elements(votes) with ordinality v (value, n)
    where (v.value #>> '{by,principal}', v.value #>> '{by,verified}') is distinct from (voter, verified)
  );
begin
  if voter is null or of_kind not in ('voted', 'withdrawn', 'approved', 'rejected', 'answered') then
    return votes;
  elsif of_kind = 'withdrawn' then
    return others;
  elsif json_array_length(others) < json_array_length(votes) then
    return votes;
  elsif of_kind = 'voted' and exists (
      select from json_array_elements(history) h
      where h.value #>> '{by,attestation}' = e #>> '{by,attestation}' and h.value ->> 'kind' <> 'refused') then
    return votes;
  end if;
  return (
    select json_agg(v.value order by v.n) from (
      select t.value, t.n from json_array_elements(votes) with ordinality t (value, n)
      union all
      select case
        when e -> 'of' is null then json_build_object('by', e -> 'by', 'confirmed', confirmed, 'at', e -> 'at')
        else json_build_object('by', e -> 'by', 'confirmed', confirmed, 'at', e -> 'at', 'of', e -> 'of')
      end, 1000000
    ) v
  );
end $$;

create function holdfast.audit_entry_1(a holdfast.approvals, e json, entry text) returns void language plpgsql as $$
begin
  perform holdfast.audit_2(a.session_id, e ->> 'kind', (
      select jsonb_object_agg(f.key, f.value) from (values
        ('requestId', e -> 'requestId'), ('entryId', e -> 'entryId'), ('at', e -> 'at'),
        ('by', e #> '{by,principal}'), ('verified', e #> '{by,verified}'), ('channel', e #> '{by,channel}'),
        ('attestation', e #> '{by,attestation}'), ('confirmed', e -> 'confirmed'),
        ('credentialRef', e -> 'credentialRef'), ('responseRef', e -> 'responseRef')
      ) f (key, value) where json_typeof(f.value) <> 'null'
    ), (
      select json_object_agg(c.key, c.value) from (values
        ('reason', e -> 'reason'),
        ('before', case when e -> 'args' is not null then holdfast.shown_args_1(a.args, a.sensitive) end),
        ('after', holdfast.shown_args_1(e -> 'args', a.sensitive)),
        ('payload', e -> 'payload'), ('response', e -> 'response')
      ) c (key, value) where c.value is not null
    ), entry);
end $$;

-- The time is part of what an entry is known by: a workflow that was reset gives its entries' ids again.
create function holdfast.record_entries_1(session text, entries json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  e json;
  entry text;
  a holdfast.approvals;
  of_kind text;
begin
  perform from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  for e in select u.value from json_array_elements(entries) with ordinality u (value, n) order by u.n loop
    entry := (e ->> 'entryId') || '@' || (e ->> 'at');
    continue when exists (select from holdfast.audit t where t.entry = entry and t.session_id = session);
    select * into a from holdfast.approvals t where t.request_id = e ->> 'requestId' and t.session_id = session;
    if not found then
      raise exception using errcode = 'HF002', message = format('request %s is not in the store', e ->> 'requestId');
    end if;
    if e -> 'responseRef' is not null then
      select (e::jsonb || jsonb_build_object('response', r.response))::json into strict e
        from holdfast.responses r where r.ref = e ->> 'responseRef' and r.session_id = session;
    end if;
    perform holdfast.audit_entry_1(a, e, entry);
    continue when a.status <> 'pending';
    of_kind := e ->> 'kind';
    a.votes := holdfast.votes_with_1(a.votes, a.history, e);
    a.history := holdfast.history_with_1(a.history, e);
    if of_kind = 'escalated' then
      -- Where the time to decide is over, those who are asked next have as much again.
      if a.terms ->> 'onExpiry' = 'escalate' and (a.escalated_at is not null
          or (a.terms ->> 'escalateAfter')::float8 < (a.terms ->> 'expiresIn')::float8 is not true) then
        a.until := (e ->> 'at')::bigint + (a.terms ->> 'expiresIn')::float8::bigint;
      end if;
      a.escalated_at := coalesce(a.escalated_at, (e ->> 'at')::bigint);
    elsif of_kind in ${ENDED} then
      a.status := of_kind;
      a.decided_at := (e ->> 'at')::bigint;
      a.reason := e ->> 'reason';
      a.answer_payload := e -> 'payload';
      a.edited_args := e -> 'args';
      a.response := e -> 'response';
      a.response_ref := e ->> 'responseRef';
      a.credential_ref := e ->> 'credentialRef';
    end if;
    update holdfast.approvals t set status = a.status, until = a.until, escalated_at = a.escalated_at,
        decided_at = a.decided_at, votes = a.votes, history = a.history, reason = a.reason, edited_args = a.edited_args,
        answer_payload = a.answer_payload, response = a.response, response_ref = a.response_ref,
        credential_ref = a.credential_ref
      where t.request_id = a.request_id and t.session_id = session;
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
