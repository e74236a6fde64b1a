/** Queued messages tell who has sent them; those that were cut off are gone on with. */
export const requesters = `
create function holdfast.keep_messages_2(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, started_at bigint,
  message_ids text[], invocations text[], places double precision[], digests text[], bytes bigint[], uploaded boolean[],
  agents text[], reasons text[], messages json, deltas json, configs json, requesters text[]
) returns text[] language plpgsql as $$
#variable_conflict use_variable
declare
  kinds text[] := holdfast.keep_messages_1(session, name_key, app_key, user_key, app, user_id, name, started_at, message_ids,
    invocations, places, digests, bytes, uploaded, agents, reasons, messages, deltas, configs);
begin
  -- Begun by a chain that is no more, and ended by nobody: there is one chain at a time, and it goes on with it.
  if 'known' = any (kinds) then
    kinds := array(
      select case when u.kind = 'known' and u.reason is null and r.status = 'running' and r.fence_started_at < started_at
        then 'reset' else u.kind end
      from unnest(invocations, reasons, kinds) with ordinality u (invocation_id, reason, kind, n)
      left join holdfast.runs r on r.run_key = u.invocation_id
        and r.session_id = (select s.id from holdfast.sessions s where s.name_key = name_key)
      order by u.n
    );
  end if;
  update holdfast.inbox i set requester = u.requester
    from unnest(invocations, requesters, kinds) u (invocation_id, requester, kind)
    where i.session_id = (select s.id from holdfast.sessions s where s.name_key = name_key)
      and i.invocation_id = u.invocation_id and u.kind is null and u.requester is not null
      and i.status = 'waiting' and i.requester is null;
  return kinds;
end $$;
`;
