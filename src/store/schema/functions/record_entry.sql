-- What happened to a request is audited once. It changes the request as long as that is pending.
create or replace function holdfast.record_entry(session text, entry json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  of_request text := entry ->> 'requestId';
  kind text := entry ->> 'kind';
  at bigint := (entry ->> 'at')::bigint;
  ends boolean := holdfast.ends_request(kind);
  q record;
  response json;
begin
  select t.status, t.sensitive, case when (entry -> 'args') is not null then t.args end as args into q
    from holdfast.approvals t where t.request_id = of_request and t.session_id = session;
  if not found then
    raise exception using errcode = 'HF002', message = format('request %s is not in the store', of_request);
  end if;
  response := holdfast.entry_response(session, entry);
  if not holdfast.audit_entry(session, entry, response, q.args, q.sensitive) or q.status <> 'pending' then
    return;
  end if;
  update holdfast.approvals t set
      votes = holdfast.votes_with(t.votes, t.history, entry), history = holdfast.history_with(t.history, entry),
      escalated_at = case when kind = 'escalated' then coalesce(t.escalated_at, at) else t.escalated_at end,
      -- Where the time to decide is over, those who are asked next have as much again.
      until = case when kind = 'escalated' and t.terms ->> 'onExpiry' = 'escalate' and (t.escalated_at is not null
          or (t.terms ->> 'escalateAfter')::float8 < (t.terms ->> 'expiresIn')::float8 is not true)
        then at + (t.terms ->> 'expiresIn')::float8::bigint else t.until end,
      status = case when ends then kind else t.status end,
      decided_at = case when ends then at end,
      reason = case when ends then entry ->> 'reason' end,
      answer_payload = case when ends then entry -> 'payload' end,
      edited_args = case when ends then entry -> 'args' end,
      response = case when ends then response end,
      response_ref = case when ends then entry ->> 'responseRef' end,
      credential_ref = case when ends then entry ->> 'credentialRef' end
    where t.request_id = of_request and t.session_id = session;
end $$;
