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
