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
