-- A turn that ends gives back its slot.
create or replace function holdfast.free_turn_slot() returns trigger language plpgsql as $$
begin
  delete from holdfast.turn_slots t using holdfast.sessions s
    where s.id = new.session_id and t.name_key = s.name_key and t.invocation_id = new.invocation_id;
  return null;
end $$;
create or replace trigger runs_end after update of status on holdfast.runs for each row
  when (old.status = 'running' and new.status <> 'running') execute function holdfast.free_turn_slot();
