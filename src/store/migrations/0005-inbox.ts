/** A start may wait for a worker that long: without its content it could never begin. */
const DAYS_OF_AN_UPLOAD = 30;

const MOST_NOTES = 100;

/** Messages that were accepted and wait for their turn: they outlive the workflow that took them. */
export const inbox = `
-- A session that was not found, locked like one that was; another may have made it meanwhile.
create function holdfast.make_session_1(session text, name_key text, app_key text, user_key text, app text, user_id text,
  name text) returns holdfast.sessions language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
begin
  -- Again where that one is deleted in between.
  loop
    insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
      values (session, name_key, app_key, user_key, app, user_id, name)
      on conflict on constraint sessions_name_key_key do nothing
      returning * into s;
    exit when found;
    select * into s from holdfast.sessions t where t.name_key = name_key for update;
    exit when found;
  end loop;
  return s;
end $$;

create function holdfast.refuse_message_1(message_id text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF004', message = format(
    'message id %s was used with other content: give each message an id of its own', message_id);
end $$;

-- Deletes an invocation's row and, where it has the message's content and that is wanted, appends its event. \`delta\` is
-- null where nothing was appended, \`digest\` where nobody was told that the message is accepted and none was appended.
create function holdfast.take_message_1(session text, invocation text, at_seq bigint, event_id uuid, appends boolean,
  out message_id text, out digest text, out asked json, out delta jsonb) language plpgsql as $$
declare
  taken holdfast.inbox;
  kept json;
begin
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id = invocation returning * into taken;
  message_id := taken.message_id;
  if taken.agent is not null or taken.run_config is not null then
    asked := json_build_object('agent', taken.agent, 'runConfig', taken.run_config);
  end if;
  if taken.status = 'waiting' or (taken.status = 'uploaded' and appends) then
    digest := taken.digest;
  end if;
  if not appends or taken.message is null then
    return;
  end if;
  select coalesce(json_object_agg(d.key, d.value), '{}') into kept
    from json_each(taken.state_delta) d where d.key not like 'temp:%';
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, dedupe_key)
    values (session, at_seq, event_id, invocation, invocation, 1, 'message', 'user',
      ('{"invocationId":' || to_json(invocation) || ',"author":"user","content":' || taken.message
        || ',"actions":{"stateDelta":' || kept
        || ',"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}')::json,
      'msg:' || invocation);
  delta := coalesce(taken.state_delta::jsonb, '{}');
end $$;

-- What nobody comes for: uploads that were never sent, notes beyond the newest.
create function holdfast.tidy_inbox_1(session text) returns void language plpgsql as $$
begin
  delete from holdfast.inbox i where i.session_id = session and i.status = 'uploaded'
    and i.created_at < clock_timestamp() - interval '${DAYS_OF_AN_UPLOAD} days';
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id in (
    select n.invocation_id from holdfast.inbox n where n.session_id = session and n.status = 'rejected'
    order by n.created_at desc offset ${MOST_NOTES});
end $$;

-- What became of each message, in their order: null where it is kept.
create function holdfast.keep_messages_1(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, started_at bigint,
  message_ids text[], invocations text[], places double precision[], digests text[], bytes bigint[], uploaded boolean[],
  agents text[], reasons text[], messages json, deltas json, configs json
) returns text[] language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  m record;
  run record;
  kept holdfast.inbox;
  kinds text[] := '{}';
  kind text;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if not found then
    s := holdfast.make_session_1(session, name_key, app_key, user_key, app, user_id, name);
  end if;
  for m in
    select u.message_id, u.invocation_id, u.place, u.digest, u.bytes, u.uploaded, u.agent, u.reason,
      case when json_typeof(u.message) <> 'null' then u.message end as message,
      case when json_typeof(u.delta) <> 'null' then u.delta end as delta,
      case when json_typeof(u.config) <> 'null' then u.config end as config
    from rows from (unnest(message_ids, invocations, places, digests, bytes, uploaded, agents, reasons),
        json_array_elements(messages), json_array_elements(deltas), json_array_elements(configs))
      with ordinality u (message_id, invocation_id, place, digest, bytes, uploaded, agent, reason, message, delta, config, n)
    order by u.n
  loop
    kind := null;
    select t.message_digest as digest, t.fence_started_at as chain into run
      from holdfast.runs t where t.session_id = s.id and t.run_key = m.invocation_id;
    if found then
      kind := case when m.reason is null and run.digest <> m.digest then 'duplicate'
        when m.reason is null and run.chain = started_at then 'reset' else 'known' end;
    else
      select * into kept from holdfast.inbox i where i.session_id = s.id and i.invocation_id = m.invocation_id;
      if m.reason is not null then
        if kept.status is distinct from 'waiting' then
          insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, digest, bytes, reason)
            values (s.id, m.invocation_id, m.message_id, 'rejected', m.digest, 0, m.reason)
            on conflict on constraint inbox_pkey do update set status = excluded.status, digest = excluded.digest,
              bytes = 0, message = null, state_delta = null, agent = null, run_config = null, reason = excluded.reason,
              created_at = excluded.created_at;
        end if;
      elsif kept.status in ('uploaded', 'waiting') and kept.digest <> m.digest then
        kind := 'duplicate';
      elsif m.uploaded and (kept.status is null or kept.status = 'rejected') then
        kind := 'missing';
      elsif kept.status is distinct from 'waiting' then
        insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, chain_started_at, place, digest,
            bytes, message, state_delta, agent, run_config)
          values (s.id, m.invocation_id, m.message_id, 'waiting', started_at, m.place, m.digest, m.bytes, m.message,
            m.delta, m.agent, m.config)
          on conflict on constraint inbox_pkey do update set status = excluded.status,
            chain_started_at = excluded.chain_started_at, place = excluded.place, digest = excluded.digest,
            bytes = case i.status when 'uploaded' then i.bytes else excluded.bytes end,
            message = case i.status when 'uploaded' then i.message else excluded.message end,
            state_delta = case i.status when 'uploaded' then i.state_delta else excluded.state_delta end,
            agent = excluded.agent, run_config = excluded.run_config, reason = null,
            created_at = excluded.created_at;
      end if;
    end if;
    kinds := kinds || kind;
  end loop;
  perform holdfast.tidy_inbox_1(s.id);
  update holdfast.sessions t set updated_at = clock_timestamp() where t.id = s.id;
  return kinds;
end $$;

create function holdfast.upload_message_1(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text,
  message_id text, invocation text, digest text, bytes bigint, message json, delta json
) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if not found then
    s := holdfast.make_session_1(session, name_key, app_key, user_key, app, user_id, name);
  end if;
  if exists (select from holdfast.runs t where t.session_id = s.id and t.run_key = invocation) then
    return;
  end if;
  insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, digest, bytes, message, state_delta)
    values (s.id, invocation, message_id, 'uploaded', digest, bytes, message, delta)
    on conflict on constraint inbox_pkey do update set status = excluded.status, digest = excluded.digest,
      bytes = excluded.bytes, message = excluded.message, state_delta = excluded.state_delta, reason = null,
      created_at = excluded.created_at
      where i.status <> 'waiting';
  perform holdfast.tidy_inbox_1(s.id);
  update holdfast.sessions t set updated_at = clock_timestamp() where t.id = s.id;
end $$;
`;
