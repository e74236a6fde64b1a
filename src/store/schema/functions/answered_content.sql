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
