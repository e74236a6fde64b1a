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
