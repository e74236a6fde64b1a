-- The job of a call that has begun, as `add_job` makes it; what waits for it is told at the newest address.
create or replace function holdfast.open_job(args json) returns json language plpgsql as $$
declare
  a record;
  j holdfast.jobs;
  began boolean;
begin
  select * into a from json_to_record(args) as t(session text, job_id text, call_key text, workflow_id text,
    workflow_run_id text, activity_id text);
  select * into j from holdfast.jobs t where t.job_id = a.job_id and t.session_id = a.session for update;
  began := not found;
  if began then
    if not holdfast.add_job(args) then
      raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', a.call_key);
    end if;
    select * into j from holdfast.jobs t where t.job_id = a.job_id and t.session_id = a.session for update;
  end if;
  j := holdfast.address_job(j, a.workflow_id, a.workflow_run_id, a.activity_id);
  return json_build_object('changed', began, 'of', holdfast.job(j));
end $$;

-- Writes the row of a call's job, where there is none. That of a call which is settled by then ends as the call has: nobody
-- would wait for it. False where there is no such call. Its time is over at `until`, or `deadline` from now.
create or replace function holdfast.add_job(args json) returns boolean language plpgsql as $$
declare
  a record;
  now bigint := holdfast.now_ms();
  s record;
  l record;
  step record;
  invocation text;
  model_seq bigint;
begin
  select * into a from json_to_record(args) as t(session text, job_id text, run_key text, call_key text, call_id text, tool text,
    agent text, until float8, deadline float8, workflow_id text, workflow_run_id text, activity_id text);
  -- Settling the call waits for this, or is waited for.
  select t.status, t.response, t.failed, t.cut_off, t.step into l
    from holdfast.ledger t where t.session_id = a.session and t.key = a.call_key for share;
  select t.app_key, t.user_key into s from holdfast.sessions t where t.id = a.session;
  invocation := (select t.invocation_id from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key);
  select t.seq, coalesce(t.of_run, a.run_key) || '.' || coalesce(t.of_step, t.step) as model into step
    from holdfast.ledger t where t.session_id = a.session and t.key = a.run_key || '.' || l.step;
  if l.status is null or s.app_key is null or invocation is null or step.model is null then
    return false;
  end if;
  model_seq := (
    select e.seq from holdfast.events e where e.dedupe_key = 'model:' || step.model and e.session_id = a.session);
  insert into holdfast.jobs (session_id, job_id, app_key, user_key, run_key, invocation_id, call_key, call_id, tool,
      agent, model_seq, workflow_id, workflow_run_id, activity_id, since, until)
    values (a.session, a.job_id, s.app_key, s.user_key, a.run_key, invocation, a.call_key, a.call_id, a.tool,
      a.agent, coalesce(model_seq, step.seq, 0), a.workflow_id, a.workflow_run_id, a.activity_id, now,
      coalesce(a.until, now + a.deadline)::bigint)
    on conflict on constraint jobs_pkey do nothing;
  if found and l.status = 'settled' then
    update holdfast.jobs t set response = l.response, failed = l.failed, ended_at = now,
        status = case when l.cut_off then 'cancelled' when l.failed then 'failed' else 'completed' end,
        ended_by = case when l.cut_off then 'turn' else 'tool' end
      where t.job_id = a.job_id and t.session_id = a.session;
  end if;
  return true;
end $$;

-- The row of a job; where there is none yet, by what its token claims of the call. Null where there is no such call either.
create or replace function holdfast.claimed_job(job text, claims json) returns holdfast.jobs language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job for update;
  if not found and claims is not null and holdfast.add_job(claims) then
    select * into j from holdfast.jobs t where t.job_id = job for update;
  end if;
  return j;
end $$;

-- The row of a session's job, until the transaction's end nobody else's.
create or replace function holdfast.locked_job(session text, job text) returns holdfast.jobs language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    perform holdfast.no_job(job);
  end if;
  return j;
end $$;

-- Ends an attempt that leaves its call to the job. Null where the attempt doesn't count any more.
create or replace function holdfast.park_job(session text, job text, attempt int, intermediate json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  parks boolean;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    perform holdfast.no_job(job);
  end if;
  if not holdfast.end_attempt(session, j.run_key, j.call_key, attempt) then
    return null;
  end if;
  j := holdfast.locked_job(session, job);
  parks := j.status = 'running' and j.mode = 'started';
  if parks then
    update holdfast.jobs t set mode = 'parked', intermediate = coalesce(intermediate, t.intermediate)
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', parks, 'of', holdfast.job(j));
end $$;

-- Its tool is to run again: a person is to be asked something. Whoever polls has seen it, so it counts as a poll that has answered.
create or replace function holdfast.resume_job(session text, job text) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  resumes boolean;
begin
  j := holdfast.locked_job(session, job);
  resumes := j.status = 'running' and j.mode = 'parked';
  if resumes then
    update holdfast.jobs t set mode = 'started', not_yet = t.not_yet + 1, failed_in_a_row = 0, polled_at = holdfast.now_ms()
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', resumes, 'of', holdfast.job(j));
end $$;

-- From now on the job has an end of its own: its call is settled by what is known meanwhile.
create or replace function holdfast.detach_job(session text, job text, intermediate json) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  detaches boolean;
begin
  j := holdfast.locked_job(session, job);
  detaches := j.status = 'running' and j.mode <> 'detached';
  if detaches then
    update holdfast.jobs t set mode = 'detached', intermediate = intermediate
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', detaches, 'of', holdfast.job(j));
end $$;

-- The workflow that waits for a job: the newest address counts. Null where there is no such job.
create or replace function holdfast.await_job(session text, job text, workflow text, workflow_run text, activity text)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    return null;
  end if;
  return json_build_object('of', holdfast.job(holdfast.address_job(j, workflow, workflow_run, activity)));
end $$;

-- Of a job that has ended nobody needs it.
create or replace function holdfast.address_job(inout j holdfast.jobs, workflow text, workflow_run text, activity text)
language plpgsql as $$
#variable_conflict use_variable
begin
  if j.status = 'running' and (j.workflow_id, j.workflow_run_id, j.activity_id) is distinct from
      (workflow, workflow_run, activity) then
    update holdfast.jobs t set workflow_id = workflow, workflow_run_id = workflow_run, activity_id = activity
      where t.job_id = j.job_id and t.session_id = j.session_id returning * into j;
  end if;
end $$;

-- Null where there is no such job. The first outcome counts; `repeated`: it had ended by an equal one.
create or replace function holdfast.end_job(args json) returns json language plpgsql as $$
declare
  a record;
  j holdfast.jobs;
  ends boolean;
  equal boolean;
begin
  select * into a from json_to_record(args) as t(job_id text, status text, response json, failed boolean, ended_by text,
    person text, reason text, token uuid, claims json);
  j := holdfast.claimed_job(a.job_id, a.claims);
  if j.job_id is null then
    return null;
  end if;
  ends := j.status = 'running';
  if ends then
    update holdfast.jobs t set status = a.status, response = a.response, failed = a.failed, ended_at = holdfast.now_ms(),
        ended_by = a.ended_by, ended_person = a.person, end_token = a.token, reason = a.reason
      where t.job_id = a.job_id and t.session_id = j.session_id returning * into j;
  end if;
  equal := j.status = a.status and j.failed = a.failed and j.response::jsonb = a.response::jsonb;
  return json_build_object('changed', ends, 'first', equal, 'repeated', equal and j.end_token is distinct from a.token,
    'of', holdfast.job(j));
end $$;

-- Null where there is no such job; without a change where it has ended.
create or replace function holdfast.progress_job(job text, progress json, intermediate json, claims json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
  j holdfast.jobs := holdfast.claimed_job(job, claims);
  tells boolean;
begin
  if j.job_id is null then
    return null;
  end if;
  if j.status <> 'running' then
    return json_build_object('changed', false, 'tells', false, 'of', holdfast.job(j));
  end if;
  tells := j.told_at is null or now - j.told_at >= greatest(5000, (now - j.since) / 10);
  update holdfast.jobs t set heard_at = now, told_at = case when tells then now else t.told_at end,
      progress = coalesce((progress::jsonb || jsonb_build_object('at', now))::json, t.progress),
      intermediate = coalesce(intermediate, t.intermediate)
    where t.job_id = job and t.session_id = j.session_id returning * into j;
  return json_build_object('changed', true, 'tells', tells, 'of', holdfast.job(j));
end $$;

-- A look at a job by its tool, which was not over, or has failed; told again, it is one.
create or replace function holdfast.record_poll(session text, job text, error text, token uuid) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  j := holdfast.locked_job(session, job);
  if j.status = 'running' and j.poll_token is distinct from token then
    update holdfast.jobs t set not_yet = t.not_yet + (error is null)::int,
        failed_polls = t.failed_polls + (error is not null)::int,
        failed_in_a_row = case when error is null then 0 else t.failed_in_a_row + 1 end,
        poll_error = coalesce(error, t.poll_error), polled_at = holdfast.now_ms(), poll_token = token
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('of', holdfast.job(j));
end $$;

-- Where the call that began the job isn't settled, it is what tells the session; where it was settled by anything but what was
-- known meanwhile, it has done so.
create or replace function holdfast.job_delivery(session text, job text) returns text language plpgsql stable as $$
declare
  j record;
  l record;
begin
  select t.call_key, t.delivered_seq, t.hidden into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    return 'deleted';
  end if;
  select t.status, t.will_continue into l from holdfast.ledger t where t.session_id = session and t.key = j.call_key;
  return case when j.delivered_seq is not null then 'told' when j.hidden then 'hidden'
    when l.status is distinct from 'settled' then 'open' when l.will_continue then 'due' else 'told' end;
end $$;

-- The answer about a job: people and programs know it by the session of its root.
create or replace function holdfast.job(j holdfast.jobs) returns json language sql stable as $$
  select json_build_object('job', j, 'names', (
    select json_build_array(n.app, n.user_id, n.name)
    from holdfast.sessions s join holdfast.sessions n on n.id = coalesce(s.root_session, s.id) where s.id = j.session_id))
$$;

-- The newest job of a call of that id, unless a rewind hides the call.
create or replace function holdfast.job_of_call(session text, of_id text) returns text language sql stable as $$
  select j.job_id from (
    select * from holdfast.jobs t
    where hashtextextended(t.call_id, hashtextextended(t.session_id, 0)) = hashtextextended(of_id, hashtextextended(session, 0))
    offset 0
  ) j
  where j.session_id = session and j.call_id = of_id and not j.hidden
  order by j.model_seq desc, j.since desc, j.job_id limit 1
$$;

-- By one call after the other: the index of the session would do, too, and read all of its jobs.
create or replace function holdfast.jobs_of_calls(session text, keys text[]) returns setof holdfast.jobs
language plpgsql stable as $$
begin
  for n in 1 .. coalesce(cardinality(keys), 0) loop
    return query select t.* from (select * from holdfast.jobs a where a.call_key = keys[n] offset 0) t
      where t.session_id = session;
  end loop;
end $$;

create or replace function holdfast.job_address(j holdfast.jobs) returns json language sql stable as $$
  select case when j.activity_id is not null then
    json_build_object('workflowId', j.workflow_id, 'runId', j.workflow_run_id, 'activityId', j.activity_id) end
$$;

-- The notices of jobs for followers.
create or replace function holdfast.job_news(session text, jobs text[]) returns json language sql stable as $$
  select json_agg(json_build_object('runKey', j.run_key, 'callKey', j.call_key, 'tool', j.tool, 'jobId', j.job_id,
    'status', j.status, 'mode', j.mode, 'progress', j.progress) order by j.job_id)
  from unnest(jobs) u (job)
  cross join lateral (select * from holdfast.jobs t where t.job_id = u.job offset 0) j
  where j.session_id = session
$$;

create or replace function holdfast.no_job(job text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF002', message = format('job %s is not in the store', job);
end $$;
