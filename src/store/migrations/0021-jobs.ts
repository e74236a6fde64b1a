/** Milliseconds that a workflow isn't told again how far a job has got, and the part of the job's age that it is at least. */
const SHORTEST_SILENCE = 5_000;
const SILENCE_OF_AGE = 10;

/** Jobs of long-running calls: where their first outcome wins. */
export const jobs = `
-- Times in milliseconds since the epoch. \`model_seq\`: of the event that has the call. \`said_by\`: the invocation whose message
-- has ended it, or had the newest update. Tokens are of the newest write of their kind, so that one is done once.
create table holdfast.jobs (
  session_id text collate "C" not null,
  job_id text collate "C" not null,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  call_key text collate "C" not null,
  call_id text not null,
  tool text not null,
  agent text not null,
  model_seq bigint not null,
  hidden boolean not null default false,
  workflow_id text,
  workflow_run_id text,
  activity_id text,
  mode text collate "C" not null default 'started',
  status text collate "C" not null default 'running',
  since bigint not null,
  until bigint not null,
  heard_at bigint,
  told_at bigint,
  progress json,
  intermediate json,
  said_by text collate "C",
  response json,
  failed boolean,
  ended_at bigint,
  ended_by text collate "C",
  end_token uuid,
  reason text,
  delivered_seq bigint,
  not_yet int not null default 0,
  failed_polls int not null default 0,
  failed_in_a_row int not null default 0,
  poll_error text,
  polled_at bigint,
  poll_token uuid,
  primary key (job_id, session_id)
) with (fillfactor = 70);
create index jobs_of_call on holdfast.jobs (call_key);
-- An id of a call can be of any length, and calls of many sessions can have it.
create index jobs_of_call_id on holdfast.jobs (hashtextextended(call_id, hashtextextended(session_id, 0)));
create index jobs_of_session on holdfast.jobs (session_id, status, since, job_id);
create index jobs_of_user on holdfast.jobs (user_key, status, since, job_id);
create index jobs_of_app on holdfast.jobs (app_key, status, since, job_id);
create index jobs_running on holdfast.jobs (since, job_id) where status = 'running';

-- What is answered of a job.
create function holdfast.job_1(j holdfast.jobs) returns json language sql stable as $$
  select json_build_object('job', j, 'names', (
    select json_build_array(s.app, s.user_id, s.name) from holdfast.sessions s where s.id = j.session_id))
$$;

-- What followers are told of jobs.
create function holdfast.job_news_1(session text, jobs text[]) returns json language sql stable as $$
  select json_agg(json_build_object('runKey', j.run_key, 'callKey', j.call_key, 'tool', j.tool, 'jobId', j.job_id,
    'status', j.status, 'mode', j.mode, 'progress', j.progress) order by j.job_id)
  from unnest(jobs) u (job)
  cross join lateral (select * from holdfast.jobs t where t.job_id = u.job offset 0) j
  where j.session_id = session
$$;

-- Writes the row of a call's job, where there is none. That of a call which is settled by then ends as the call has: nobody
-- would wait for it. False where there is no such call.
create function holdfast.add_job_1(session text, job text, run text, of_key text, call_id text, tool text, agent text,
  until bigint, workflow text, workflow_run text, activity text) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms_1();
  s record;
  r record;
  l record;
  step record;
  model_seq bigint;
begin
  -- Whoever settles the call waits for this, or is waited for.
  select t.status, t.response, t.failed, t.cut_off, t.step into l
    from holdfast.ledger t where t.session_id = session and t.key = of_key for share;
  select t.app_key, t.user_key into s from holdfast.sessions t where t.id = session;
  select t.invocation_id into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  select t.seq, coalesce(t.of_run, run) || '.' || coalesce(t.of_step, t.step) as model into step
    from holdfast.ledger t where t.session_id = session and t.key = run || '.' || l.step;
  if l.status is null or s.app_key is null or r.invocation_id is null or step.model is null then
    return false;
  end if;
  select e.seq into model_seq
    from holdfast.events e where e.dedupe_key = 'model:' || step.model and e.session_id = session;
  insert into holdfast.jobs (session_id, job_id, app_key, user_key, run_key, invocation_id, call_key, call_id, tool,
      agent, model_seq, workflow_id, workflow_run_id, activity_id, since, until)
    values (session, job, s.app_key, s.user_key, run, r.invocation_id, of_key, call_id, tool, agent,
      coalesce(model_seq, step.seq, 0), workflow, workflow_run, activity, now, until)
    on conflict on constraint jobs_pkey do nothing;
  if found and l.status = 'settled' then
    update holdfast.jobs t set response = l.response, failed = l.failed, ended_at = now,
        status = case when l.cut_off then 'cancelled' when l.failed then 'failed' else 'completed' end,
        ended_by = case when l.cut_off then 'turn' else 'tool' end
      where t.job_id = job and t.session_id = session;
  end if;
  return true;
end $$;

-- The row of a job whose token says what its call would: null where there is no such call.
create function holdfast.claimed_job_1(job text, claims json) returns holdfast.jobs language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job for update;
  if not found and claims is not null and holdfast.add_job_1(claims ->> 'session', job, claims ->> 'runKey',
      claims ->> 'callKey', claims ->> 'callId', claims ->> 'tool', claims ->> 'agent', (claims ->> 'until')::float8::bigint,
      null, null, null) then
    select * into j from holdfast.jobs t where t.job_id = job for update;
  end if;
  return j;
end $$;

create function holdfast.no_job_1(job text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF002', message = format('job %s is not in the store', job);
end $$;

create function holdfast.open_job_1(session text, job text, run text, of_key text, call_id text, tool text, agent text,
  workflow text, workflow_run text, activity text, deadline double precision) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  began boolean := false;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    began := true;
    if not holdfast.add_job_1(session, job, run, of_key, call_id, tool, agent, holdfast.now_ms_1() + deadline::bigint,
        workflow, workflow_run, activity) then
      raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', of_key);
    end if;
    select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  end if;
  j := holdfast.address_job_1(j, workflow, workflow_run, activity);
  return json_build_object('changed', began, 'of', holdfast.job_1(j));
end $$;

-- Of a job that has ended nobody needs it.
create function holdfast.address_job_1(inout j holdfast.jobs, workflow text, workflow_run text, activity text)
language plpgsql as $$
#variable_conflict use_variable
begin
  if j.status = 'running' and (j.workflow_id, j.workflow_run_id, j.activity_id) is distinct from
      (workflow, workflow_run, activity) then
    update holdfast.jobs t set workflow_id = workflow, workflow_run_id = workflow_run, activity_id = activity
      where t.job_id = j.job_id and t.session_id = j.session_id returning * into j;
  end if;
end $$;

create function holdfast.await_job_1(session text, job text, workflow text, workflow_run text, activity text)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    return null;
  end if;
  return json_build_object('of', holdfast.job_1(holdfast.address_job_1(j, workflow, workflow_run, activity)));
end $$;

-- Null where the attempt doesn't count any more.
create function holdfast.park_job_1(session text, job text, attempt int, intermediate json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  l record;
  r record;
  parks boolean;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session;
  if not found then
    perform holdfast.no_job_1(job);
  end if;
  select t.status, t.step, t.attempts, t.ended_attempts into l
    from holdfast.ledger t where t.session_id = session and t.key = j.call_key for update;
  select t.status, t.step into r from holdfast.runs t where t.session_id = session and t.run_key = j.run_key;
  if l.status is null or r.status is null then
    raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', j.call_key);
  end if;
  -- A chain that takes over reads its steps again from the first one: the run's own may be older than the call's.
  if r.status <> 'running' or r.step > l.step or l.status = 'settled' or l.attempts <> attempt then
    return null;
  end if;
  if not coalesce(l.ended_attempts, '{}') @> attempt then
    update holdfast.ledger t set ended = t.ended + 1,
        ended_attempts = coalesce(t.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
      where t.session_id = session and t.key = j.call_key;
  end if;
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  parks := j.status = 'running' and j.mode = 'started';
  if parks then
    update holdfast.jobs t set mode = 'parked', intermediate = coalesce(intermediate, t.intermediate)
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', parks, 'of', holdfast.job_1(j));
end $$;

create function holdfast.detach_job_1(session text, job text, intermediate json) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
  detaches boolean;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    perform holdfast.no_job_1(job);
  end if;
  detaches := j.status = 'running' and j.mode <> 'detached';
  if detaches then
    update holdfast.jobs t set mode = 'detached', intermediate = intermediate
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('changed', detaches, 'of', holdfast.job_1(j));
end $$;

-- Null where there is no such job. \`repeated\`: it had ended by an equal outcome.
create function holdfast.end_job_1(job text, status text, response json, failed boolean, ended_by text, reason text,
  token uuid, claims json) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs := holdfast.claimed_job_1(job, claims);
  ends boolean := j.status = 'running';
  equal boolean;
begin
  if j.job_id is null then
    return null;
  end if;
  if ends then
    update holdfast.jobs t set status = status, response = response, failed = failed, ended_at = holdfast.now_ms_1(),
        ended_by = ended_by, end_token = token, reason = reason
      where t.job_id = job and t.session_id = j.session_id returning * into j;
  end if;
  equal := j.status = status and j.failed = failed and j.response::jsonb = response::jsonb;
  return json_build_object('changed', ends, 'first', equal, 'repeated', equal and j.end_token is distinct from token,
    'of', holdfast.job_1(j));
end $$;

-- Null where there is no such job; without a change where it has ended.
create function holdfast.progress_job_1(job text, progress json, intermediate json, claims json) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms_1();
  j holdfast.jobs := holdfast.claimed_job_1(job, claims);
  tells boolean;
begin
  if j.job_id is null then
    return null;
  end if;
  if j.status <> 'running' then
    return json_build_object('changed', false, 'tells', false, 'of', holdfast.job_1(j));
  end if;
  tells := j.told_at is null or now - j.told_at >= greatest(${SHORTEST_SILENCE}, (now - j.since) / ${SILENCE_OF_AGE});
  update holdfast.jobs t set heard_at = now, told_at = case when tells then now else t.told_at end,
      progress = coalesce((progress::jsonb || jsonb_build_object('at', now))::json, t.progress),
      intermediate = coalesce(intermediate, t.intermediate)
    where t.job_id = job and t.session_id = j.session_id returning * into j;
  return json_build_object('changed', true, 'tells', tells, 'of', holdfast.job_1(j));
end $$;

create function holdfast.record_poll_1(session text, job text, error text, token uuid) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  j holdfast.jobs;
begin
  select * into j from holdfast.jobs t where t.job_id = job and t.session_id = session for update;
  if not found then
    perform holdfast.no_job_1(job);
  end if;
  if j.status = 'running' and j.poll_token is distinct from token then
    update holdfast.jobs t set not_yet = t.not_yet + (error is null)::int,
        failed_polls = t.failed_polls + (error is not null)::int,
        failed_in_a_row = case when error is null then 0 else t.failed_in_a_row + 1 end,
        poll_error = coalesce(error, t.poll_error), polled_at = holdfast.now_ms_1(), poll_token = token
      where t.job_id = job and t.session_id = session returning * into j;
  end if;
  return json_build_object('of', holdfast.job_1(j));
end $$;
`;
