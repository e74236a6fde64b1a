-- Keeps messages that a chain has accepted, or a note of why it rejected them. Answers in their order what became of each:
-- null where it is kept, `known` where a turn has taken it, `reset` where that turn is this chain's own, or was left running
-- by a chain that is no more: there is one chain at a time, and it goes on with it.
create or replace function holdfast.keep_messages(args json) returns text[] language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  m record;
  run record;
  kept holdfast.inbox;
  kinds text[] := '{}';
  kind text;
begin
  select * into a from json_to_record(args) as t(name_key text, started_at bigint, messages json);
  s := holdfast.make_session(a.name_key, args);
  for m in
    select * from json_to_recordset(a.messages) as t(
      message_id text, invocation text, place double precision, digest text, bytes bigint, uploaded boolean, agent text,
      reason text, message json, delta json, config json, requester text)
  loop
    kind := null;
    select t.message_digest as digest, t.fence_started_at as chain, t.status into run
      from holdfast.runs t where t.session_id = s.id and t.run_key = m.invocation;
    if found then
      kind := case when m.reason is not null then 'known' when run.digest <> m.digest then 'duplicate'
        when run.chain = a.started_at or run.status = 'running' and run.chain < a.started_at then 'reset' else 'known' end;
    else
      select * into kept from holdfast.inbox i where i.session_id = s.id and i.invocation_id = m.invocation;
      if m.reason is not null then
        if kept.status is distinct from 'waiting' then
          insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, digest, bytes, reason)
            values (s.id, m.invocation, m.message_id, 'rejected', m.digest, 0, m.reason)
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
          values (s.id, m.invocation, m.message_id, 'waiting', a.started_at, m.place, m.digest, m.bytes, m.message,
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
    if kind is null and m.requester is not null then
      update holdfast.inbox i set requester = m.requester
        where i.session_id = s.id and i.invocation_id = m.invocation and i.status = 'waiting' and i.requester is null;
    end if;
    kinds := kinds || kind;
  end loop;
  perform holdfast.tidy_inbox(s.id);
  update holdfast.sessions t set updated_at = clock_timestamp() where t.id = s.id;
  return kinds;
end $$;

-- Keeps the content of a message that is to be sent. One that waits, or has begun a turn, stays as it is.
create or replace function holdfast.upload_message(args json) returns void language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(
    name_key text, message_id text, invocation text, digest text, bytes bigint, message json, delta json);
  s := holdfast.make_session(a.name_key, args);
  if exists (select from holdfast.runs r where r.session_id = s.id and r.run_key = a.invocation) then
    return;
  end if;
  insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, digest, bytes, message, state_delta)
    values (s.id, a.invocation, a.message_id, 'uploaded', a.digest, a.bytes, a.message, a.delta)
    on conflict on constraint inbox_pkey do update set status = excluded.status, digest = excluded.digest,
      bytes = excluded.bytes, message = excluded.message, state_delta = excluded.state_delta, reason = null,
      created_at = excluded.created_at
      where i.status <> 'waiting';
  perform holdfast.tidy_inbox(s.id);
  update holdfast.sessions t set updated_at = clock_timestamp() where t.id = s.id;
end $$;

-- Deletes an invocation's row and, where it has the message's content and that is wanted, appends its event. `delta` is
-- null where nothing was appended, `digest` where nobody was told that the message is accepted and none was appended.
create or replace function holdfast.take_message(session text, invocation text, at_seq bigint, event_id uuid, appends boolean,
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
  if holdfast.answers_calls(taken.message) then
    taken.message := holdfast.heard(session, invocation, taken.message, at_seq);
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

-- Messages that other chains than this one have accepted and no turn has answered, in order. A chain knows its own.
create or replace function holdfast.waiting_messages(session text, this_chain bigint, but_of text) returns json
language plpgsql stable as $$
begin
  return (
    select json_agg(json_build_array(i.message_id, i.invocation_id, i.agent, i.run_config, i.place, i.digest, i.bytes)
        order by i.chain_started_at, i.place, i.created_at)
    from holdfast.inbox i
    where i.waits_in = session and i.invocation_id is distinct from but_of
      and i.chain_started_at <> this_chain);
end $$;

-- The answer to a chain's first step whose message an earlier chain has accepted, where others wait before it; null where it
-- may begin, or is to be refused.
create or replace function holdfast.behind(s holdfast.sessions, invocation text, this_chain bigint, message_digest text)
returns json language plpgsql stable as $$
declare
  own holdfast.inbox;
begin
  select * into own from holdfast.inbox i
    where i.waits_in = s.id and i.invocation_id = invocation and i.chain_started_at <> this_chain;
  -- A place below zero is that of a message that goes before those that wait.
  if not found or own.place < 0 or message_digest <> own.digest then
    return null;
  end if;
  perform from holdfast.inbox i
    where i.waits_in = s.id and i.chain_started_at <> this_chain
      and (i.chain_started_at, i.place, i.created_at) < (own.chain_started_at, own.place, own.created_at)
    limit 1;
  if not found then
    return null;
  end if;
  return json_build_object('kind', 'behind', 'session', s.id, 'seq', s.last_seq,
    'inbox', holdfast.waiting_messages(s.id, this_chain, null));
end $$;

-- Deletes uploads that were never sent, and all notes but the newest.
create or replace function holdfast.tidy_inbox(session text) returns void language plpgsql as $$
begin
  delete from holdfast.inbox i where i.session_id = session and i.status = 'uploaded'
    and i.created_at < clock_timestamp() - interval '30 days';
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id in (
    select n.invocation_id from holdfast.inbox n where n.session_id = session and n.status = 'rejected'
    order by n.created_at desc offset 100);
end $$;

-- A message id names one content for ever.
create or replace function holdfast.refuse_message(message_id text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF004', message = format(
    'message id %s was used with other content: give each message an id of its own', message_id);
end $$;

-- A delivery's state: `taken` by this holder; else its answer, null while another one handles it. `longest`: milliseconds of the hold,
-- null for ever.
create or replace function holdfast.take_delivery(of_channel text, of_delivery text, of_holder text, longest bigint) returns json
language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
  d holdfast.channel_deliveries;
begin
  delete from holdfast.channel_deliveries t where t.came_at < now - 30 * 86400000::bigint;
  loop
    insert into holdfast.channel_deliveries as t (channel, delivery, holder, came_at, held_until)
      values (of_channel, of_delivery, of_holder, now, now + longest)
      on conflict (channel, delivery) do update set holder = excluded.holder, held_until = excluded.held_until
      where t.answer is null and t.held_until < now;
    select * into d from holdfast.channel_deliveries t where t.channel = of_channel and t.delivery = of_delivery;
    -- Given back in between.
    exit when found;
  end loop;
  if d.answer is null and d.holder = of_holder then
    return json_build_object('taken', true);
  end if;
  return json_build_object('taken', false, 'answer', d.answer);
end $$;
