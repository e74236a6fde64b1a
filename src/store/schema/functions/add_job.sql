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
  -- Whoever settles the call waits for this, or is waited for.
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
