-- What an entry says in answer to a question: itself, or by a reference to what is kept.
create or replace function holdfast.entry_response(session text, entry json) returns json language plpgsql stable as $$
#variable_conflict use_variable
declare
  reference text := entry ->> 'responseRef';
  kept json;
begin
  if reference is null then
    return entry -> 'response';
  end if;
  select r.response into kept from holdfast.responses r where r.ref = reference and r.session_id = session;
  if not found then
    raise exception using errcode = 'HF002', message = format('the answer %s is not in the store', reference);
  end if;
  return kept;
end $$;
