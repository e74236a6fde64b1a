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
