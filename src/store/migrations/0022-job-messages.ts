import { CUT_OFF } from './cut-off.ts';

/** What messages say of jobs. */
export const jobMessages = `
-- Whether it is worth a look: responses of functions are rare in messages.
create function holdfast.answers_calls_1(said json) returns boolean language sql immutable as $$
  select strpos(said::text, '"functionResponse"') > 0
$$;

create function holdfast.json_with_1(object json, field text, content json) returns json language sql immutable as $$
  select json_object_agg(f.key, case f.key when field then content else f.value end order by f.n)
  from json_each(object) with ordinality f (key, value, n)
$$;

create function holdfast.response_of_1(said json) returns json language sql immutable as $$
  select case json_typeof(said -> 'response') when 'object' then said -> 'response' else '{}' end
$$;

-- The newest job of a call of that id, unless a rewind hides the call.
create function holdfast.job_of_call_1(session text, of_id text) returns text language sql stable as $$
  select j.job_id from (
    select * from holdfast.jobs t
    where hashtextextended(t.call_id, hashtextextended(t.session_id, 0)) = hashtextextended(of_id, hashtextextended(session, 0))
    offset 0
  ) j
  where j.session_id = session and j.call_id = of_id and not j.hidden
  order by j.model_seq desc, j.since desc, j.job_id limit 1
$$;

-- A message's parts in order, with the jobs that its responses are of.
create function holdfast.parts_of_jobs_1(session text, content json)
returns table (part json, said json, goes_on boolean, of_job text) language sql stable as $$
  select p.value, p.value -> 'functionResponse', coalesce(p.value #>> '{functionResponse,willContinue}' = 'true', false),
    case when json_typeof(p.value #> '{functionResponse,id}') = 'string'
      then holdfast.job_of_call_1(session, p.value #>> '{functionResponse,id}') end
  from json_array_elements(case json_typeof(content -> 'parts') when 'array' then content -> 'parts' end)
    with ordinality p (value, n)
  order by p.n
$$;

-- A message as it is appended: where a job has ended otherwise than it says, with the outcome that counts. Null where that
-- changes nothing. Of what messages say the latest counts, as in ADK, and a call without a job is no job's.
create function holdfast.answered_content_1(session text, invocation text, content json) returns json
language plpgsql stable as $$
declare
  p record;
  j record;
  outcome json;
  by_it jsonb := '{}';
  parts text[] := '{}';
  changed boolean := false;
begin
  for p in select * from holdfast.parts_of_jobs_1(session, content) loop
    outcome := null;
    if p.of_job is not null then
      select t.status, t.response, t.call_key, t.ended_by = 'message' and t.said_by = invocation as by_this,
          not p.goes_on and (t.ended_by = 'message' or t.ended_by = 'tool' and t.mode = 'started') as gives_way into j
        from holdfast.jobs t where t.job_id = p.of_job and t.session_id = session;
      if j.status <> 'running' and j.by_this is not true and j.gives_way is not true then
        outcome := j.response;
      elsif by_it ? p.of_job then
        outcome := (by_it -> p.of_job)::json;
      elsif not p.goes_on then
        by_it := by_it || jsonb_build_object(p.of_job, holdfast.response_of_1(p.said));
      elsif j.status = 'running' and not exists (
            select from holdfast.parts_of_jobs_1(session, content) q where q.of_job = p.of_job and not q.goes_on)
          and exists (select from holdfast.ledger l
            where l.session_id = session and l.key = j.call_key and l.status <> 'settled') then
        -- Its turn is cut off by this message's.
        outcome := json_build_object('error', '${CUT_OFF}');
      end if;
    end if;
    if outcome is not null and (p.goes_on or outcome::jsonb <> holdfast.response_of_1(p.said)::jsonb) then
      changed := true;
      parts := parts || ('{"functionResponse":{"id":' || (p.said -> 'id') || coalesce(',"name":' || (p.said -> 'name'), '')
        || ',"response":' || outcome || '}}');
    else
      parts := parts || p.part::text;
    end if;
  end loop;
  return case when changed then
    holdfast.json_with_1(content, 'parts', ('[' || array_to_string(parts, ',') || ']')::json) end;
end $$;

-- Jobs end by what a message says of their calls, or have it as an update. With the seq of its event, the session is told by it
-- what they have come to.
create function holdfast.hear_jobs_1(session text, invocation text, content json, at_seq bigint) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  p record;
  j record;
  response json;
begin
  for p in select t.* from holdfast.parts_of_jobs_1(session, content) t where t.of_job is not null loop
    select t.status, t.delivered_seq, t.response::jsonb as outcome,
        t.ended_by = 'message' and t.said_by is distinct from invocation as may_change,
        t.ended_by = 'tool' and t.mode = 'started' as is_none into j
      from holdfast.jobs t where t.job_id = p.of_job and t.session_id = session for update;
    response := holdfast.response_of_1(p.said);
    if j.status = 'running' and p.goes_on then
      update holdfast.jobs t set intermediate = response, heard_at = holdfast.now_ms_1(), said_by = invocation
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.status = 'running' then
      update holdfast.jobs t set status = case when response -> 'error' is null then 'completed' else 'failed' end,
          response = response, failed = response -> 'error' is not null, ended_at = holdfast.now_ms_1(),
          ended_by = 'message', said_by = invocation, delivered_seq = at_seq
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.may_change and not p.goes_on and j.outcome <> response::jsonb then
      update holdfast.jobs t set status = case when response -> 'error' is null then 'completed' else 'failed' end,
          response = response, failed = response -> 'error' is not null, said_by = invocation,
          delivered_seq = at_seq
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.delivered_seq is null and at_seq is not null and j.is_none is not true then
      update holdfast.jobs t set delivered_seq = at_seq where t.job_id = p.of_job and t.session_id = session;
    end if;
  end loop;
end $$;

create function holdfast.heard_1(session text, invocation text, content json, at_seq bigint) returns json
language plpgsql as $$
begin
  content := coalesce(holdfast.answered_content_1(session, invocation, content), content);
  perform holdfast.hear_jobs_1(session, invocation, content, at_seq);
  return content;
end $$;

-- Jobs that this transaction has ended by cutting off their calls.
create function holdfast.cut_off_now_1() returns text[] language sql volatile as $$
  select string_to_array(nullif(current_setting('holdfast.cut_off_jobs', true), ''), ' ')
$$;

create function holdfast.job_address_1(j holdfast.jobs) returns json language sql stable as $$
  select case when j.activity_id is not null then
    json_build_object('workflowId', j.workflow_id, 'runId', j.workflow_run_id, 'activityId', j.activity_id) end
$$;

-- Who is to be told of what a message has said.
create function holdfast.told_jobs_1(session text, invocation text, content json) returns json language sql stable as $$
  select json_agg(json_build_object('jobId', j.job_id, 'ended', coalesce(j.ended_by = 'message', false),
    'address', holdfast.job_address_1(j)) order by j.job_id)
  from (select distinct p.of_job from holdfast.parts_of_jobs_1(session, content) p where p.of_job is not null) t
  join holdfast.jobs j on j.job_id = t.of_job and j.session_id = session
  where j.said_by = invocation
$$;

-- As open_step_2 would append it: a message that is sent along, or that of the inbox. Null where it is as it is.
create function holdfast.answered_message_1(of_name text, invocation text, sent json) returns json
language plpgsql stable as $$
declare
  session text := (select s.id from holdfast.sessions s where s.name_key = of_name);
  content json := coalesce(sent, (
    select i.message from holdfast.inbox i where i.session_id = session and i.invocation_id = invocation));
begin
  return case when session is not null and holdfast.answers_calls_1(content) then
    holdfast.answered_content_1(session, invocation, content) end;
end $$;
`;
