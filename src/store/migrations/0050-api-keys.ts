/** Keys of who may use the gateway; of their secrets the store has digests only. */
export const apiKeys = `
create table holdfast.api_keys (
  key_id text collate "C" primary key,
  name text not null,
  user_id text,
  grants json not null,
  digest bytea not null,
  old_digest bytea,
  old_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  rotated_at timestamptz,
  revoked_at timestamptz,
  used_at timestamptz
);
`;
