-- A message id names one content for ever.
create or replace function holdfast.refuse_message(message_id text) returns void language plpgsql as $$
begin
  raise exception using errcode = 'HF004', message = format(
    'message id %s was used with other content: give each message an id of its own', message_id);
end $$;
