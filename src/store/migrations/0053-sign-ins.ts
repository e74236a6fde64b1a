/** Browsers that somebody has signed in with, and the order of what they read. */
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

-- What has ended is read page by page, whatever came of it.
create index approvals_ended on holdfast.approvals (since, request_id) where status <> 'pending';
create index approvals_ended_of_app on holdfast.approvals (app_key, since, request_id) where status <> 'pending';
create index approvals_ended_of_user on holdfast.approvals (user_key, since, request_id) where status <> 'pending';
create index jobs_ended on holdfast.jobs (since, job_id) where status <> 'running';
create index jobs_ended_of_app on holdfast.jobs (app_key, since, job_id) where status <> 'running';
create index jobs_ended_of_user on holdfast.jobs (user_key, since, job_id) where status <> 'running';
`;
