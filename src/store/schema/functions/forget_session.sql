-- What goes with a session, sessions of called agents among it. Its audit stays without what people gave; signatures stay too.
create or replace function holdfast.forget_session() returns trigger language plpgsql as $$
declare
  events bigint;
begin
  delete from holdfast.events t where t.session_id = old.id;
  get diagnostics events = row_count;
  delete from holdfast.ledger t where t.session_id = old.id;
  delete from holdfast.runs t where t.session_id = old.id;
  delete from holdfast.inbox t where t.session_id = old.id;
  delete from holdfast.approvals t where t.session_id = old.id;
  delete from holdfast.responses t where t.session_id = old.id;
  delete from holdfast.jobs t where t.session_id = old.id;
  delete from holdfast.job_answers t where t.session_id = old.id;
  delete from holdfast.notice_notes t where t.session_id = old.id;
  delete from holdfast.dead_notices t where t.session_id = old.id;
  delete from holdfast.turn_slots t where t.name_key = old.name_key;
  delete from holdfast.slack_threads t where t.name = old.name and t.app = old.app and t.user_id = old.user_id;
  delete from holdfast.sessions t where t.root_session = old.id;
  update holdfast.audit t set content = null, salt = null where t.session_id = old.id and t.content is not null;
  perform holdfast.audit(old.id, 'deleted', json_build_object('events', events));
  return null;
end $$;
create or replace trigger sessions_deleted after delete on holdfast.sessions for each row
  execute function holdfast.forget_session();
