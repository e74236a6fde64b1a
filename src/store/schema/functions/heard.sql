-- A message as it is appended at a seq: its jobs end by what it says of them.
create or replace function holdfast.heard(session text, invocation text, content json, at_seq bigint) returns json
language plpgsql as $$
begin
  content := coalesce(holdfast.answered_content(session, invocation, content), content);
  perform holdfast.hear_jobs(session, invocation, content, at_seq);
  return content;
end $$;
