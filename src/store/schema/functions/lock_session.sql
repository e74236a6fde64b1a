-- One write to a session waits for the other.
create or replace function holdfast.lock_session(session text) returns void language plpgsql as $$
begin
  perform from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
end $$;
