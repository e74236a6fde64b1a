-- Ends an attempt with a request. Null where the attempt doesn't count any more; without an event where that was done before.
create or replace function holdfast.suspend_call(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  invocation text;
begin
  select * into a from json_to_record(args) as t(session text, run_key text, step int, call_key text, attempt int, request json,
    event_id uuid, author text, branch text, body json, delta jsonb);
  select * into s from holdfast.sessions t where t.id = a.session for update;
  if not holdfast.end_attempt(a.session, a.run_key, a.call_key, a.attempt) then
    return null;
  end if;
  if exists (select from holdfast.approvals t
      where t.request_id = a.request ->> 'requestId' and t.session_id = a.session) then
    return json_build_object('seq', s.last_seq, 'appended', false);
  end if;
  invocation := (select t.invocation_id from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key);
  perform holdfast.add_requests(a.session, invocation, a.run_key, json_build_array(a.request));
  s.last_seq := s.last_seq + 1;
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (a.session, s.last_seq, a.event_id, invocation, a.run_key, a.step, 'request', a.author, a.branch, a.body,
      'request:' || (a.request ->> 'requestId'));
  if a.delta is not null then
    s.state := s.state || holdfast.apply_delta(s, invocation, a.delta);
  end if;
  perform holdfast.save_session(s);
  return json_build_object('seq', s.last_seq, 'appended', true);
end $$;
