/** Messages that told a turn of its jobs, and began none: sent again, they have that turn's result. */
export const jobAnswers = `
-- \`session_id\`: the root's. \`digest\`: of the whole message but what answers requests; \`rest\`: of what it said beside, which is a
-- message of its own.
create table holdfast.job_answers (
  session_id text collate "C" not null,
  message_key bytea not null,
  invocation_id text collate "C" not null,
  digest text not null,
  rest text,
  primary key (session_id, message_key)
);

create function holdfast.forget_job_answers_1() returns trigger language plpgsql as $$
begin
  delete from holdfast.job_answers t where t.session_id = old.id;
  return null;
end $$;
create trigger sessions_lose_job_answers after delete on holdfast.sessions for each row
  execute function holdfast.forget_job_answers_1();

-- Not of the message that delivers the outcome of a job: until a turn has answered that one, it is sent again and has to begin one.
create function holdfast.keep_job_answer_1(job text, message_id text, digest text, rest text) returns void
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
create function holdfast.answered_run_1(name_key text, message_id text, digest text) returns holdfast.runs
language plpgsql as $$
#variable_conflict use_variable
declare
  a holdfast.job_answers;
  r holdfast.runs;
begin
  select t.* into a from holdfast.sessions s
    join holdfast.job_answers t on t.session_id = s.id and t.message_key = sha256(convert_to(message_id, 'UTF8'))
    where s.name_key = name_key;
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

-- As open_step_2. A message that told another turn of its jobs begins none; what it said beside is known by that alone.
create function holdfast.open_step_3(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, message_id text,
  invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  author text, branch text, message json, delta jsonb, event_id uuid, known_session text, known_seq bigint,
  message_digest text, asked json, may_give_way boolean, requester text
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  a holdfast.job_answers;
  r holdfast.runs;
  inbox json;
begin
  if name_key is not null and run = invocation then
    select t.* into a from holdfast.sessions s
      join holdfast.job_answers t on t.session_id = s.id and t.message_key = sha256(convert_to(message_id, 'UTF8'))
      where s.name_key = name_key;
    if a.session_id is not null and not exists (
        select from holdfast.runs t where t.session_id = a.session_id and t.run_key = run and a.rest is null) then
      if message_digest not in (a.digest, coalesce(a.rest, a.digest)) then
        perform holdfast.refuse_message_1(message_id);
      end if;
      if message_digest = a.digest and exists (
          select from holdfast.runs t where t.session_id = a.session_id and t.run_key = run) then
        message_digest := a.rest;
      elsif message_digest = a.digest and exists (
          select from holdfast.inbox i
          where i.session_id = a.session_id and i.invocation_id = invocation and i.digest = a.rest) then
        message_digest := a.rest;
        message := null;
        delta := null;
      end if;
      r := holdfast.answered_run_1(name_key, message_id, coalesce(message_digest, a.digest));
      if r.run_key is not null then
        delete from holdfast.inbox i where i.session_id = a.session_id and i.invocation_id = invocation;
        select json_agg(json_build_array(i.message_id, i.invocation_id, i.agent, i.run_config, i.place, i.digest, i.bytes)
              order by i.chain_started_at, i.place, i.created_at)
          into inbox from holdfast.inbox i
          where i.waits_in = a.session_id and i.invocation_id <> invocation and i.chain_started_at <> fence_started_at;
        return json_build_object('kind', 'finished', 'session', a.session_id, 'seq', r.last_seq, 'from', r.first_seq,
          'agent', r.agent, 'outcome', r.outcome, 'inbox', inbox);
      end if;
    end if;
  end if;
  return holdfast.open_step_2(session, name_key, app_key, user_key, app, user_id, name, message_id, invocation, run, at_step,
    fence_started_at, fence_invocation, seq, author, branch, message, delta, event_id, known_session, known_seq,
    message_digest, asked, may_give_way, requester);
end $$;
`;
