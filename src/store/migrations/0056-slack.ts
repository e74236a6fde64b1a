/** Longer than Slack's signatures hold, and than it tries to send an event again, milliseconds. */
const REMEMBERED = 86_400_000;

/** What Slack has sent, by which it counts once; and the threads that are sessions. */
export const slack = `
-- \`holder\`: the attempt that has heard of it first.
create table holdfast.slack_heard (
  id text collate "C" primary key,
  holder text collate "C" not null,
  heard_at bigint not null
);
create index slack_heard_by_time on holdfast.slack_heard (heard_at);

create table holdfast.slack_threads (
  thread text collate "C" primary key,
  app text not null,
  user_id text not null,
  name text not null
);
create index slack_threads_of_session on holdfast.slack_threads (name);

-- Whether nobody but this holder has heard of it.
create function holdfast.hear_slack_1(of_id text, of_holder text) returns boolean language plpgsql as $$
declare
  now bigint := holdfast.now_ms_1();
begin
  delete from holdfast.slack_heard t where t.heard_at < now - ${REMEMBERED};
  insert into holdfast.slack_heard (id, holder, heard_at) values (of_id, of_holder, now) on conflict (id) do nothing;
  return found or exists (select 1 from holdfast.slack_heard t where t.id = of_id and t.holder = of_holder);
end $$;

create function holdfast.forget_slack_threads_1() returns trigger language plpgsql as $$
begin
  delete from holdfast.slack_threads t where t.name = old.name and t.app = old.app and t.user_id = old.user_id;
  return null;
end $$;
create trigger sessions_lose_slack_threads after delete on holdfast.sessions for each row
  execute function holdfast.forget_slack_threads_1();
`;
