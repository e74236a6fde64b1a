-- A retry as it is answered. `jobs`: those of the calls that it makes anew and that a workflow of their own waits for.
create or replace function holdfast.prepared_retry(retry holdfast.runs, seq bigint, retried text[]) returns json
language plpgsql stable as $$
begin
  return json_build_object('session', retry.session_id, 'seq', seq, 'retryOf', retry.origin, 'generation', retry.generation,
    'invocationId', retry.run_key, 'messageId', retry.message_id, 'agent', retry.agent, 'jobs', (
      select json_agg(json_build_object('jobId', j.job_id, 'ended', true, 'address', holdfast.job_address(j)) order by j.job_id)
      from holdfast.jobs_of_calls(retry.session_id, retried) j
      where j.hidden and j.mode = 'detached' and j.ended_by = 'turn'));
end $$;
