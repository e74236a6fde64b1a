/** Which person has ended a job, where an operator did. */
export const jobPersons = `
alter table holdfast.jobs add column ended_person text;

create function holdfast.end_job_2(job text, status text, response json, failed boolean, ended_by text, reason text,
  token uuid, claims json, person text) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  answer json := holdfast.end_job_1(job, status, response, failed, ended_by, reason, token, claims);
  j holdfast.jobs;
begin
  if person is null or answer is null or not (answer ->> 'changed')::boolean then
    return answer;
  end if;
  update holdfast.jobs t set ended_person = person
    where t.job_id = job and t.session_id = answer #>> '{of,job,session_id}' returning t.* into j;
  return json_build_object('changed', true, 'first', answer -> 'first', 'repeated', answer -> 'repeated',
    'of', holdfast.job_1(j));
end $$;
`;
