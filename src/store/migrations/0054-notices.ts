/** What those who tell people of requests keep, and what they couldn't tell. */
export const notices = `
-- \`place\`: by which the gateway finds a note. \`telling_until\`: somebody is being told of the request as of one that waits.
create table holdfast.notice_notes (
  notifier text collate "C" not null,
  request_id text collate "C" not null,
  session_id text collate "C" not null,
  place text collate "C",
  value json,
  telling_until timestamptz,
  ended boolean not null default false,
  primary key (request_id, notifier)
);
create unique index notice_notes_places on holdfast.notice_notes (notifier, place) where place is not null;
create index notice_notes_of_session on holdfast.notice_notes (session_id);

-- Notices that nobody tries to tell any more. \`input\`: how they are told again.
create table holdfast.dead_notices (
  notice_id text collate "C" primary key,
  notifier text collate "C" not null,
  app text collate "C" not null,
  session_id text collate "C" not null,
  request_id text collate "C" not null,
  why text collate "C" not null,
  error text not null,
  attempts int not null,
  input json not null,
  died_at timestamptz not null default clock_timestamp()
);
create index dead_notices_by_time on holdfast.dead_notices (died_at, notice_id);
create index dead_notices_of_session on holdfast.dead_notices (session_id);

create function holdfast.forget_notices_1() returns trigger language plpgsql as $$
begin
  delete from holdfast.notice_notes t where t.session_id = old.id;
  delete from holdfast.dead_notices t where t.session_id = old.id;
  return null;
end $$;
create trigger sessions_lose_notices after delete on holdfast.sessions for each row
  execute function holdfast.forget_notices_1();
`;
