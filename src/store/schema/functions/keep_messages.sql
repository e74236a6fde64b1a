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
