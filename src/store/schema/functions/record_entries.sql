-- In their order.
create or replace function holdfast.record_entries(session text, entries json) returns void language plpgsql as $$
begin
  perform holdfast.lock_session(session);
  for n in 0 .. json_array_length(entries) - 1 loop
    perform holdfast.record_entry(session, entries -> n);
  end loop;
end $$;
