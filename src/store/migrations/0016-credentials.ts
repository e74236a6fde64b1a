/** Secrets of users, sealed by a key that the store doesn't have. */
export const credentials = `
create table holdfast.credentials (
  user_key text collate "C" not null,
  key_digest bytea not null,
  app_key text collate "C" not null,
  app text not null,
  user_id text not null,
  credential_key text not null,
  credential_ref text collate "C" not null,
  auth_type text not null,
  label text,
  key_id text not null,
  sealed text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_key, key_digest)
);
create index credentials_of_app on holdfast.credentials (app_key, created_at);
`;
