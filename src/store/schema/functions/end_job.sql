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
