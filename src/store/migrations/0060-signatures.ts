/** The signed decisions that requests were given, kept whole: whoever starts the call verifies them again. */
export const signatures = `
-- \`n\` orders those of one request, \`at\` is the store's time. \`says\` is \`refused\` for one that doesn't count. Digests of an answer:
-- as it was signed, and as it is meant. They stay when the session is deleted, as the audit does: they hold names and digests.
create table holdfast.signatures (
  session_id text collate "C" not null,
  request_id text collate "C" not null,
  digest text collate "C" not null,
  n int not null,
  at bigint not null,
  came_at bigint not null,
  says text collate "C" not null,
  principal text not null,
  jws text not null,
  key json not null,
  signed_response text,
  meant_response text,
  primary key (session_id, request_id, digest)
);

-- Keeps a signature, and records what it came to. One that was refused may count when it comes again; any other stays as it is.
create function holdfast.record_signed_1(session text, signed json, entry json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  of_request text := signed ->> 'requestId';
begin
  perform from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  insert into holdfast.signatures as t (session_id, request_id, digest, n, at, came_at, says, principal, jws, key,
      signed_response, meant_response)
    select session, of_request, signed ->> 'digest', 1 + coalesce((
        select max(o.n) from holdfast.signatures o where o.session_id = session and o.request_id = of_request), 0),
      holdfast.now_ms_1(), (signed ->> 'cameAt')::bigint, signed ->> 'says', signed ->> 'principal', signed ->> 'jws',
      signed -> 'key', signed ->> 'signedResponse', signed ->> 'meantResponse'
    on conflict on constraint signatures_pkey do update set n = excluded.n, at = excluded.at, came_at = excluded.came_at,
        says = excluded.says, signed_response = excluded.signed_response, meant_response = excluded.meant_response
      where t.says = 'refused' and excluded.says <> 'refused';
  if entry is not null then
    perform holdfast.record_entries_1(session, json_build_array(entry));
  end if;
end $$;

-- As in src/approvals/voting.ts.
create function holdfast.needs_signatures_1(terms json) returns boolean language sql immutable as $$
  select (terms -> 'approvers') is not null or coalesce((terms ->> 'quorum')::float8, 1) > 1
    or coalesce(terms ->> 'notRequester', '') = 'true'
$$;

-- Equal as long as nothing has changed of what the requests of a call, and their signatures, prove.
create function holdfast.evidence_stamp_1(session text, of_key text) returns text language sql stable as $$
  select coalesce(string_agg(concat_ws('/', c.request_id, c.status, (
      select count(*) from holdfast.signatures g
      where g.session_id = session and g.request_id = c.request_id and g.says <> 'refused'
    )), ',' order by c.request_id), '')
  from (select * from holdfast.approvals t where t.call_key = of_key offset 0) c where c.session_id = session
$$;

-- The requests of a call, in order, with their signatures. \`now\` is the store's time.
create function holdfast.evidence_1(session text, of_key text) returns json language sql stable as $$
  select json_build_object(
    'names', (select json_build_array(s.app, s.user_id, s.name) from holdfast.sessions s where s.id = session),
    'requests', coalesce((
      select json_agg(c order by length(c.request_id), c.request_id)
      from (select * from holdfast.approvals t where t.call_key = of_key offset 0) c where c.session_id = session
    ), '[]'),
    'signatures', coalesce((
      select json_agg(g order by g.request_id, g.n) from holdfast.signatures g
      where g.session_id = session and g.request_id in (
        select c.request_id from (select * from holdfast.approvals t where t.call_key = of_key offset 0) c
        where c.session_id = session
      )
    ), '[]'),
    'now', holdfast.now_ms_1(),
    'stamp', holdfast.evidence_stamp_1(session, of_key))
$$;

-- As begin_answered_1. Where an approval counts only by signatures, or has changed the arguments, or an entry names somebody who has
-- signed, whoever begins the call has to have verified that: \`proven\` is the stamp of what was looked at. Else nothing is written, and
-- the evidence is the answer.
create function holdfast.begin_answered_2(session text, of_key text, run text, at_step int, at_index int, call_id text,
  tool text, args_digest text, token uuid, want_args boolean, sees_siblings boolean, request_id text, entries json,
  closes boolean, proven text, scheduled_at bigint)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  l holdfast.ledger;
  answer json;
begin
  perform from holdfast.sessions t where t.id = session for update;
  select * into l from holdfast.ledger t where t.session_id = session and t.key = of_key;
  -- A worker that stood still begins an attempt after a later one has begun.
  if l.status = 'started' and l.begun_for > scheduled_at then
    return json_build_object('call', json_build_object('late', true));
  end if;
  if exists (select from json_array_elements(entries) u where u.value #>> '{by,verified}' = 'true')
      or not closes and exists (
        select from (select * from holdfast.approvals t where t.call_key = of_key offset 0) c
        where c.session_id = session and c.kind = 'confirmation'
          and (c.status = 'approved' and (c.edited_args is not null or holdfast.needs_signatures_1(c.terms)) or exists (
            select from json_array_elements(entries) u
            where u.value ->> 'requestId' = c.request_id and u.value ->> 'kind' = 'approved'
              and ((u.value -> 'args') is not null or holdfast.needs_signatures_1(c.terms)))))
  then
    -- One that is sent again, since its answer was lost, has been proven.
    if proven is distinct from holdfast.evidence_stamp_1(session, of_key) and l.begun_by is distinct from token then
      if l.status = 'settled' then
        return json_build_object('call',
          json_build_object('settled', true, 'response', l.response, 'failed', l.failed, 'actions', l.actions));
      end if;
      return json_build_object('evidence', holdfast.evidence_1(session, of_key));
    end if;
  end if;
  answer := holdfast.begin_answered_1(session, of_key, run, at_step, at_index, call_id, tool, args_digest, token, want_args,
    sees_siblings, request_id, entries);
  update holdfast.ledger t set begun_for = scheduled_at
    where t.session_id = session and t.key = of_key and t.begun_by = token and scheduled_at is not null;
  return answer;
end $$;

-- As if the request had waited for its time: for tests.
create function holdfast.hasten_request_1(session text, request_id text) returns void language sql as $$
  update holdfast.approvals t set since = t.since - coalesce((t.terms ->> 'expiresIn')::float8::bigint, 0)
    where t.request_id = hasten_request_1.request_id and t.session_id = session and t.status = 'pending'
$$;
`;
