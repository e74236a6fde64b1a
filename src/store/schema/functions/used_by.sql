-- What an ending invocation used.
create or replace function holdfast.used_by(session text, invocation text) returns text language plpgsql stable as $$
declare
  r holdfast.runs;
begin
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = invocation;
  if not found then
    raise exception using errcode = 'HF002', message = format('invocation %s is not in the store', invocation);
  end if;
  return holdfast.usage_of(r);
end $$;
