/**
 * Keys hold the session's id and there are no foreign keys across sessions, so that `events` and `ledger` can be
 * hash-partitioned. Names of any length are indexed by their SHA-256: a B-tree refuses entries over 2.7 kB.
 *
 * No two indexes that serve one statement begin with the session's id: while tables are small PostgreSQL may choose the one that
 * reads the whole session, and keep that plan for as long as the connection lives.
 */
export const tables = `
create table holdfast.sessions (
  id text collate "C" primary key,
  name_key text collate "C" not null unique,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  app text not null,
  user_id text not null,
  name text not null,
  last_seq bigint not null default 0,
  state jsonb not null default '{}',
  last_agent text,
  fence_started_at bigint not null default 0,
  fence_invocation int not null default 0,
  parent_id text collate "C",
  parent_seq bigint,
  initial jsonb not null default '{}',
  model_calls bigint not null default 0,
  prompt_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  total_tokens bigint not null default 0,
  unknown_calls bigint not null default 0,
  cost double precision,
  busy_ms bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_of_app on holdfast.sessions (app_key, created_at, id);
create index sessions_of_user on holdfast.sessions (user_key, created_at);
create index sessions_forked on holdfast.sessions (parent_id) where parent_id is not null;

create table holdfast.events (
  session_id text collate "C" not null,
  seq bigint not null,
  id uuid not null default gen_random_uuid(),
  invocation_id text collate "C" not null,
  run_key text collate "C" not null,
  step int not null,
  kind text collate "C" not null,
  author text not null,
  branch text,
  body json not null,
  hides_after bigint,
  dedupe_key text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, seq),
  unique (dedupe_key, session_id)
);

create table holdfast.runs (
  session_id text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  message_id text,
  message_digest text,
  origin text collate "C",
  generation int not null default 0,
  asked json,
  fence_started_at bigint not null,
  fence_invocation int not null,
  step int not null,
  status text collate "C" not null default 'running',
  outcome json,
  agent text,
  message_seq bigint,
  first_seq bigint not null,
  last_seq bigint not null,
  temp jsonb not null default '{}',
  model_calls bigint not null default 0,
  prompt_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  total_tokens bigint not null default 0,
  unknown_calls bigint not null default 0,
  cost double precision,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  primary key (session_id, run_key)
) with (fillfactor = 70);
create index runs_running on holdfast.runs (session_id, first_seq, run_key) where status = 'running';
create unique index runs_retried on holdfast.runs (origin, generation, session_id) where origin is not null;

create table holdfast.ledger (
  session_id text collate "C" not null,
  key text collate "C" not null,
  kind text collate "C" not null,
  run_key text collate "C" not null,
  step int not null,
  idx int,
  status text collate "C" not null,
  agent text,
  branch text,
  call_id text,
  tool text,
  args json,
  args_digest text,
  response json,
  failed boolean,
  actions jsonb,
  outcome json,
  of_run text,
  of_step int,
  call_keys text[],
  call_ids text[],
  call_tools text[],
  usage json,
  seq bigint,
  attempts int not null default 0,
  ended int not null default 0,
  ended_attempts int4multirange,
  failures int not null default 0,
  last_error text,
  stack text,
  begun_by uuid,
  settled_by uuid,
  once jsonb,
  started_at timestamptz,
  settled_at timestamptz,
  primary key (session_id, key)
) with (fillfactor = 70);

create table holdfast.app_state (
  app_key text collate "C" not null,
  key_digest bytea not null,
  app text not null,
  key text not null,
  value jsonb not null,
  primary key (app_key, key_digest)
);

create table holdfast.user_state (
  user_key text collate "C" not null,
  key_digest bytea not null,
  app text not null,
  user_id text not null,
  key text not null,
  value jsonb not null,
  primary key (user_key, key_digest)
);

create table holdfast.inbox (
  session_id text collate "C" not null,
  invocation_id text collate "C" not null,
  message_id text not null,
  status text collate "C" not null,
  chain_started_at bigint not null default 0,
  place double precision not null default 0,
  digest text not null,
  bytes bigint not null,
  message json,
  state_delta json,
  agent text,
  run_config json,
  reason text,
  created_at timestamptz not null default clock_timestamp(),
  waits_in text collate "C" generated always as (case status when 'waiting' then session_id end) stored,
  primary key (session_id, invocation_id)
);
-- Of a column of its own: what waits is found without what was rejected.
create index inbox_waiting on holdfast.inbox (waits_in) where waits_in is not null;

create table holdfast.audit (
  session_id text collate "C" not null,
  n int not null,
  at timestamptz not null default clock_timestamp(),
  kind text collate "C" not null,
  facts json not null,
  hash text not null,
  primary key (session_id, n)
);
`;
