-- Jobs end by what a message says of their calls, or have it as an update. With the seq of its event, the session is told by it
-- what they have come to.
create or replace function holdfast.hear_jobs(session text, invocation text, content json, at_seq bigint) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  p record;
  j record;
  response json;
begin
  for p in select t.* from holdfast.parts_of_jobs(session, content) t where t.of_job is not null loop
    select t.status, t.delivered_seq, t.response::jsonb as outcome,
        t.ended_by = 'message' and t.said_by is distinct from invocation as may_change,
        t.ended_by = 'tool' and t.mode = 'started' as is_none into j
      from holdfast.jobs t where t.job_id = p.of_job and t.session_id = session for update;
    response := holdfast.response_of(p.said);
    if j.status = 'running' and p.goes_on then
      update holdfast.jobs t set intermediate = response, heard_at = holdfast.now_ms(), said_by = invocation
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.status = 'running' or j.may_change and not p.goes_on and j.outcome <> response::jsonb then
      update holdfast.jobs t set status = case when response -> 'error' is null then 'completed' else 'failed' end,
          response = response, failed = response -> 'error' is not null, ended_by = 'message', said_by = invocation,
          ended_at = coalesce(t.ended_at, holdfast.now_ms()), delivered_seq = at_seq
        where t.job_id = p.of_job and t.session_id = session;
    elsif j.delivered_seq is null and at_seq is not null and j.is_none is not true then
      update holdfast.jobs t set delivered_seq = at_seq where t.job_id = p.of_job and t.session_id = session;
    end if;
  end loop;
end $$;

-- A message as it is appended at a seq: its jobs end by what it says of them.
create or replace function holdfast.heard(session text, invocation text, content json, at_seq bigint) returns json
language plpgsql as $$
begin
  content := coalesce(holdfast.answered_content(session, invocation, content), content);
  perform holdfast.hear_jobs(session, invocation, content, at_seq);
  return content;
end $$;

-- The receivers of a message's answers.
create or replace function holdfast.told_jobs(session text, invocation text, content json) returns json language sql stable as $$
  select json_agg(json_build_object('jobId', j.job_id, 'ended', coalesce(j.ended_by = 'message', false),
    'address', holdfast.job_address(j)) order by j.job_id)
  from (select distinct p.of_job from holdfast.parts_of_jobs(session, content) p where p.of_job is not null) t
  join holdfast.jobs j on j.job_id = t.of_job and j.session_id = session
  where j.said_by = invocation
$$;

-- A message has told a turn of a job: sent again, it begins no other turn. The message that delivers a job's outcome begins one
-- until that has answered.
create or replace function holdfast.keep_job_answer(job text, message_id text, digest text, rest text) returns void
language plpgsql as $$
#variable_conflict use_variable
begin
  insert into holdfast.job_answers as a (session_id, message_key, invocation_id, digest, rest)
    select coalesce(s.root_session, s.id), sha256(convert_to(message_id, 'UTF8')), coalesce(s.root_run, j.invocation_id),
      digest, rest
    from holdfast.jobs j join holdfast.sessions s on s.id = j.session_id
    where j.job_id = job and message_id <> 'job:' || j.call_key
    on conflict do nothing;
end $$;

-- The newest run of the turn that a message told of jobs, where that has ended, and the message said nothing else.
create or replace function holdfast.answered_run(of_name text, message_id text, digest text) returns holdfast.runs
language plpgsql stable as $$
declare
  a holdfast.job_answers;
  r holdfast.runs;
begin
  select t.* into a from holdfast.sessions s
    join holdfast.job_answers t on t.session_id = s.id and t.message_key = sha256(convert_to(message_id, 'UTF8'))
    where s.name_key = of_name;
  if a.session_id is null or a.digest <> digest or a.rest is not null or exists (
      select from holdfast.runs t
      where t.session_id = a.session_id and t.run_key = a.invocation_id and t.status = 'running') then
    return null;
  end if;
  select * into r from holdfast.runs t
    where t.session_id = a.session_id and t.status <> 'running'
      and (t.run_key = a.invocation_id or t.origin = a.invocation_id)
    order by t.generation desc nulls last limit 1;
  return r;
end $$;

-- A message as it is appended: where a job has ended otherwise than it says, with the outcome that counts. Null where that
-- changes nothing. Of what messages say the latest counts, as in ADK, and a call without a job is no job's.
create or replace function holdfast.answered_content(session text, invocation text, content json) returns json
language plpgsql stable as $$
declare
  p record;
  j record;
  outcome json;
  by_it jsonb := '{}';
  parts text[] := '{}';
  changed boolean := false;
begin
  for p in select * from holdfast.parts_of_jobs(session, content) loop
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
        by_it := by_it || jsonb_build_object(p.of_job, holdfast.response_of(p.said));
      elsif j.status = 'running' and not exists (
            select from holdfast.parts_of_jobs(session, content) q where q.of_job = p.of_job and not q.goes_on)
          and exists (select from holdfast.ledger l
            where l.session_id = session and l.key = j.call_key and l.status <> 'settled') then
        -- Its turn is cut off by this message's.
        outcome := json_build_object('error', holdfast.cut_off_text());
      end if;
    end if;
    if outcome is not null and (p.goes_on or outcome::jsonb <> holdfast.response_of(p.said)::jsonb) then
      changed := true;
      parts := parts || ('{"functionResponse":{"id":' || (p.said -> 'id') || coalesce(',"name":' || (p.said -> 'name'), '')
        || ',"response":' || outcome || '}}');
    else
      parts := parts || p.part::text;
    end if;
  end loop;
  return case when changed then
    holdfast.json_with(content, 'parts', ('[' || array_to_string(parts, ',') || ']')::json) end;
end $$;

-- Whether it is worth a look: responses of functions are rare in messages.
create or replace function holdfast.answers_calls(said json) returns boolean language sql immutable as $$
  select strpos(said::text, '"functionResponse"') > 0
$$;

-- A message's parts in order, with the jobs that its responses are of.
create or replace function holdfast.parts_of_jobs(session text, content json)
returns table (part json, said json, goes_on boolean, of_job text) language sql stable as $$
  select p.value, p.value -> 'functionResponse', coalesce(p.value #>> '{functionResponse,willContinue}' = 'true', false),
    case when json_typeof(p.value #> '{functionResponse,id}') = 'string'
      then holdfast.job_of_call(session, p.value #>> '{functionResponse,id}') end
  from json_array_elements(case json_typeof(content -> 'parts') when 'array' then content -> 'parts' end)
    with ordinality p (value, n)
  order by p.n
$$;
