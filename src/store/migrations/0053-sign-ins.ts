/** Browsers that somebody has signed in with. */
export const signIns = `
-- \`token_hash\`: SHA-256 of the cookie; \`key_digest\`: that of the secret that was shown; times in milliseconds since the epoch.
create table holdfast.sign_ins (
  token_hash bytea primary key,
  key_id text collate "C" not null,
  key_digest bytea not null,
  since bigint not null,
  seen_at bigint not null
) with (fillfactor = 70);
create index sign_ins_of_key on holdfast.sign_ins (key_id, since, token_hash);
create index sign_ins_by_time on holdfast.sign_ins (since);
`;
