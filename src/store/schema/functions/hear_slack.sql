-- Whether nobody but this holder has heard of it.
create or replace function holdfast.hear_slack(of_id text, of_holder text) returns boolean language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
begin
  delete from holdfast.slack_heard t where t.heard_at < now - 86400000;
  insert into holdfast.slack_heard (id, holder, heard_at) values (of_id, of_holder, now) on conflict (id) do nothing;
  return found or exists (select 1 from holdfast.slack_heard t where t.id = of_id and t.holder = of_holder);
end $$;
