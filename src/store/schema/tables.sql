-- Keys hold the session's id and there are no foreign keys across sessions, so that `events` and `ledger` can be
-- hash-partitioned. Names of any length are indexed by their SHA-256: a B-tree refuses entries over 2.7 kB.
--
-- No two indexes that serve one statement begin with the session's id: while tables are small PostgreSQL may choose the one that
-- reads the whole session, and keep that plan for as long as the connection lives.

-- One conversation, or the work of a called agent.
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
  -- The newest chain of runs that writes to it.
  fence_started_at bigint not null default 0,
  fence_invocation int not null default 0,
  -- Of a fork: whose events are its own up to a seq, and the state that it began with.
  parent_id text collate "C",
  parent_seq bigint,
  -- Events up to it were read for memories.
  remembered_seq bigint not null default 0,
  initial jsonb not null default '{}',
  -- Of a called agent's session: the call that runs it, with its run, and the turn at the root.
  caller_session text collate "C",
  caller_run text collate "C",
  call_key text collate "C",
  agent_path json,
  root_session text collate "C",
  root_run text collate "C",
  model_calls bigint not null default 0,
  prompt_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  total_tokens bigint not null default 0,
  unknown_calls bigint not null default 0,
  cost double precision,
  busy_ms bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- Its place in lists: when it was made, or a turn of it has begun or ended. Each step changes `updated_at`: with an index of that it
  -- would write to all indexes.
  listed_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_forked on holdfast.sessions (parent_id) where parent_id is not null;
create index sessions_of_app on holdfast.sessions (app_key, created_at, id) where root_session is null;
create index sessions_listed on holdfast.sessions (app_key, listed_at, id) where root_session is null;
create index sessions_of_user on holdfast.sessions (user_key, listed_at, id) where root_session is null;
create index sessions_named on holdfast.sessions using hash (name) where root_session is null;
create index sessions_below on holdfast.sessions (root_session, created_at) where root_session is not null;
create index sessions_called on holdfast.sessions (caller_session, call_key) where caller_session is not null;

-- The transcript. `hides_after`: events after that seq, up to this one, are hidden.
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

-- Invocations, and runs of agents that one has planned: their run key isn't the invocation's id.
create table holdfast.runs (
  session_id text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  message_id text,
  message_digest text,
  -- The attested sender of the message.
  requester text,
  asked json,
  -- Of a retry: the invocation that was retried first, and how often it was.
  origin text collate "C",
  generation int not null default 0,
  planned_by text collate "C",
  -- The call that runs this run's agent.
  caller_session text collate "C",
  caller_run text collate "C",
  caller_invocation text collate "C",
  fence_started_at bigint not null,
  fence_invocation int not null,
  step int not null,
  -- When the newest attempt at its steps was scheduled.
  begun_for bigint,
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
create index runs_called on holdfast.runs (caller_session, run_key) where caller_session is not null;

-- Steps and calls, and what they came to: `kind` says which.
create table holdfast.ledger (
  session_id text collate "C" not null,
  key text collate "C" not null,
  kind text collate "C" not null,
  run_key text collate "C" not null,
  step int not null,
  status text collate "C" not null,
  attempts int not null default 0,
  -- Attempts that have failed, or wait: how many, and which.
  ended int not null default 0,
  ended_attempts int4multirange,
  failures int not null default 0,
  last_error text,
  -- Results of `once`, by name.
  once jsonb,
  -- The attempts that have begun and settled it: a statement that is sent again is known by that. `begun_for`: when that attempt was scheduled.
  begun_by uuid,
  begun_for bigint,
  settled_by uuid,
  started_at timestamptz,
  settled_at timestamptz,
  -- Of a step. `of_run` and `of_step`: the step that this one, of a retry, is a copy of.
  agent text,
  branch text,
  outcome json,
  of_run text,
  of_step int,
  call_keys text[],
  call_ids text[],
  call_tools text[],
  seq bigint,
  -- Of a step: the edits of its run's tools from then on, and whether user code has ended the invocation.
  tool_edits json,
  ends boolean,
  -- Of a call. `prepared`: what before-tool callbacks did when it was planned.
  idx int,
  call_id text,
  tool text,
  args json,
  args_digest text,
  prepared jsonb,
  response json,
  failed boolean,
  actions jsonb,
  parts json,
  stack text,
  -- The response is what is known by now: the call's job goes on.
  will_continue boolean,
  -- The end of its turn has settled this call, and no outcome of its own.
  cut_off boolean,
  primary key (session_id, key)
) with (fillfactor = 70);
create index ledger_remembered on holdfast.ledger (session_id, run_key, step) where tool_edits is not null or ends;

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

-- Messages that wait, were uploaded, or were rejected.
create table holdfast.inbox (
  session_id text collate "C" not null,
  invocation_id text collate "C" not null,
  message_id text not null,
  status text collate "C" not null,
  -- Of what waits its session: a column of its own, so that it is found without what was rejected.
  waits_in text collate "C" generated always as (case status when 'waiting' then session_id end) stored,
  chain_started_at bigint not null default 0,
  place double precision not null default 0,
  digest text not null,
  bytes bigint not null,
  message json,
  state_delta json,
  -- The attested sender of the message.
  requester text,
  agent text,
  run_config json,
  reason text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, invocation_id)
);
create index inbox_waiting on holdfast.inbox (waits_in) where waits_in is not null;

-- A chain of hashes for each session. `content` and `salt` go with the session; `entry` keeps one entry one row.
create table holdfast.audit (
  session_id text collate "C" not null,
  n int not null,
  at timestamptz not null default clock_timestamp(),
  kind text collate "C" not null,
  facts json not null,
  hash text not null,
  content json,
  salt text,
  entry text collate "C",
  primary key (session_id, n)
);
create unique index audit_entries on holdfast.audit (entry, session_id) where entry is not null;

-- Requests to people. Times in milliseconds since the epoch.
create table holdfast.approvals (
  session_id text collate "C" not null,
  request_id text collate "C" not null,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  call_key text collate "C" not null,
  call_id text not null,
  kind text collate "C" not null,
  tool text not null,
  agent text not null,
  path json not null,
  workflow_id text not null,
  root_workflow_id text collate "C" not null,
  requester text,
  hint text not null,
  payload json,
  args json not null,
  args_digest text not null,
  gate_digest text not null,
  sensitive json not null,
  terms json not null,
  response_schema json,
  auth_config json,
  status text collate "C" not null default 'pending',
  since bigint not null,
  until bigint,
  escalated_at bigint,
  decided_at bigint,
  votes json not null default '[]',
  history json not null default '[]',
  reason text,
  edited_args json,
  answer_payload json,
  response json,
  response_ref text,
  credential_ref text,
  -- The attempts that its call had when it began with the answer.
  begun_after int,
  primary key (request_id, session_id)
);
create index approvals_of_call on holdfast.approvals (call_key);
-- Lists read the first rows of each status and kind.
create index approvals_listed on holdfast.approvals (status, kind, since, request_id);
create index approvals_of_app on holdfast.approvals (app_key, status, kind, since, request_id);
create index approvals_of_user on holdfast.approvals (user_key, status, kind, since, request_id);
create index approvals_of_session on holdfast.approvals (session_id, status, kind, since, request_id);
create index approvals_of_root on holdfast.approvals (root_workflow_id, status, kind, since, request_id);

-- Answers that travel by reference: `is_text` until it is known what a text stands for.
create table holdfast.responses (
  session_id text collate "C" not null,
  ref text collate "C" not null,
  request_id text collate "C" not null,
  response json not null,
  is_text boolean not null,
  primary key (ref, session_id)
);
create index responses_of_session on holdfast.responses (session_id);

-- Credentials of users, sealed by a key that the store doesn't have.
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
  -- Of tokens: their scopes, separated by spaces; when they expire, milliseconds since the epoch; whose they are.
  scopes text,
  expires_at bigint,
  account text,
  -- One worker at a time refreshes them.
  lease_by text collate "C",
  lease_until bigint,
  primary key (user_key, key_digest)
);
create index credentials_of_app on holdfast.credentials (app_key, created_at);

-- Jobs that calls have begun and others end. Times in milliseconds since the epoch.
create table holdfast.jobs (
  session_id text collate "C" not null,
  job_id text collate "C" not null,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  call_key text collate "C" not null,
  call_id text not null,
  tool text not null,
  agent text not null,
  -- Of the event that has the call; and whether a rewind hides it.
  model_seq bigint not null,
  hidden boolean not null default false,
  -- The activity that waits.
  workflow_id text,
  workflow_run_id text,
  activity_id text,
  mode text collate "C" not null default 'started',
  status text collate "C" not null default 'running',
  since bigint not null,
  until bigint not null,
  heard_at bigint,
  told_at bigint,
  progress json,
  intermediate json,
  -- The invocation whose message has ended it, or had the newest update.
  said_by text collate "C",
  response json,
  failed boolean,
  ended_at bigint,
  ended_by text collate "C",
  ended_person text,
  reason text,
  -- Of the event that told its session what it has come to.
  delivered_seq bigint,
  not_yet int not null default 0,
  failed_polls int not null default 0,
  failed_in_a_row int not null default 0,
  poll_error text,
  polled_at bigint,
  -- Of the newest end and poll: a statement that is sent again is known by it.
  end_token uuid,
  poll_token uuid,
  primary key (job_id, session_id)
) with (fillfactor = 70);
create index jobs_of_call on holdfast.jobs (call_key);
-- An id of a call can be of any length, and calls of many sessions can have it.
create index jobs_of_call_id on holdfast.jobs (hashtextextended(call_id, hashtextextended(session_id, 0)));
create index jobs_of_session on holdfast.jobs (session_id, status, since, job_id);
create index jobs_of_user on holdfast.jobs (user_key, status, since, job_id);
create index jobs_of_app on holdfast.jobs (app_key, status, since, job_id);
create index jobs_listed on holdfast.jobs (status, since, job_id);

-- How long models rest. `refusals` in a row, since the model has last answered. One key for each model: there are few rows.
create table holdfast.model_limits (
  key text collate "C" primary key,
  until timestamptz not null,
  refusals int not null
);

-- Turns that run, for quotas: of a session, which runs one turn at a time and hands its slot on. One that has lapsed counts no
-- more; its turn, where it is under way after all, is known by it.
create table holdfast.turn_slots (
  name_key text collate "C" primary key,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  invocation_id text collate "C" not null,
  seen_at timestamptz not null default clock_timestamp(),
  lapsed boolean not null default false
);
create index turn_slots_of_app on holdfast.turn_slots (app_key) where not lapsed;
create index turn_slots_of_user on holdfast.turn_slots (user_key) where not lapsed;

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

-- Requests to the gateway that were denied: one row for each kind and minute.
create table holdfast.denials (
  minute timestamptz not null,
  kind bytea not null,
  facts json not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (minute, kind)
);

-- Links to requests. `holder`: who is deciding by it, or has; times in milliseconds since the epoch.
create table holdfast.used_links (
  jti text collate "C" primary key,
  request text collate "C" not null,
  holder text collate "C" not null,
  used_at bigint not null,
  outcome text
) with (fillfactor = 80);
create index used_links_by_time on holdfast.used_links (used_at);

-- Cookies of the gateway's pages. `token_hash`: SHA-256 of the cookie; `owner`: an API key's id, or the name of an issuer's person;
-- `key_digest`: SHA-256 of the secret that was shown; `person`: of an issuer, and the grants; times in milliseconds since the epoch.
create table holdfast.sign_ins (
  token_hash bytea primary key,
  owner text collate "C" not null,
  key_digest bytea,
  person json,
  since bigint not null,
  seen_at bigint not null,
  check ((key_digest is null) <> (person is null))
) with (fillfactor = 70);
create index sign_ins_of_owner on holdfast.sign_ins (owner, since, token_hash);
create index sign_ins_by_time on holdfast.sign_ins (since);

-- Notes of notifiers about requests. `place`: by which the gateway finds a note. `telling_until`: somebody is being told of the
-- request as of one that waits.
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

-- Notices that nobody tries to tell any more. `input`: how they are told again.
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

-- Requests that came in by channels. `holder`: the attempt that handles it, until `held_until`, for ever where that is null; with an
-- answer it was handled. Times in milliseconds since the epoch.
create table holdfast.channel_deliveries (
  channel text collate "C" not null,
  delivery text collate "C" not null,
  holder text collate "C" not null,
  came_at bigint not null,
  held_until bigint,
  answer json,
  primary key (channel, delivery)
) with (fillfactor = 80);
create index channel_deliveries_by_time on holdfast.channel_deliveries (came_at);

-- Threads that are sessions.
create table holdfast.channel_threads (
  channel text collate "C" not null,
  thread text collate "C" not null,
  app text not null,
  user_id text not null,
  name text not null,
  primary key (channel, thread)
);
create index channel_threads_of_session on holdfast.channel_threads (name);

-- Decisions that somebody has signed. `n` orders those of one request, `at` is the store's time, `says` is `refused` for one that
-- doesn't count. Digests of an answer: as it was signed, and as it is meant. They stay when the session is deleted, as the audit
-- does: they hold names and digests.
create table holdfast.signatures (
  session_id text collate "C" not null,
  request_id text collate "C" not null,
  digest text collate "C" not null,
  n int not null,
  at bigint not null,
  came_at bigint not null,
  says text collate "C" not null,
  principal text not null,
  jws text not null,
  key json not null,
  signed_response text,
  meant_response text,
  primary key (session_id, request_id, digest)
);

-- Messages that have told a turn of its jobs. `session_id`: the root's. `digest`: of the whole message but what answers requests;
-- `rest`: of what it said beside, which is a message of its own.
create table holdfast.job_answers (
  session_id text collate "C" not null,
  message_key bytea not null,
  invocation_id text collate "C" not null,
  digest text not null,
  rest text,
  primary key (session_id, message_key)
);

-- Bytes of artifacts, by content: an app has the same bytes once. Null in `sha256`: they are still being written, or are given up.
create table holdfast.blobs (
  id text collate "C" primary key,
  app_key text collate "C" not null,
  sha256 text collate "C",
  size bigint,
  -- SHA-256 of each block of 1 MiB, one after another: a range is verified without the rest.
  block_digests bytea,
  -- The bucket that has them; null where `blob_blocks` has.
  bucket text,
  -- Until then nobody collects them, whether a version uses them or not. `infinity` since a version does.
  used_until timestamptz not null,
  given_up boolean not null default false
);
create unique index blobs_of_app on holdfast.blobs (app_key, sha256) where sha256 is not null;
create index blobs_unused on holdfast.blobs (used_until) where used_until < 'infinity';

create table holdfast.blob_blocks (
  blob_id text collate "C" not null,
  nth int not null,
  bytes bytea not null,
  primary key (blob_id, nth)
);
-- Bytes are often compressed already, and a block is read whole.
alter table holdfast.blob_blocks alter column bytes set storage external;

-- Names of artifacts. `scope`: the id of a session, or the key of a user.
create table holdfast.artifacts (
  scope text collate "C" not null,
  name text collate "C" not null,
  next_version bigint not null,
  primary key (scope, name)
);

-- Each save of an artifact. Null in `kind`: a rewind went back to where the artifact was not there.
create table holdfast.artifact_versions (
  scope text collate "C" not null,
  name text collate "C" not null,
  version bigint not null,
  kind text collate "C",
  blob_id text collate "C",
  mime_type text,
  display_name text,
  uri text,
  metadata json,
  -- The session that saved it, in which call or step, and the seq of the event that tells so.
  session_id text collate "C",
  saved_by text collate "C",
  seq bigint,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, name, version)
);
create index artifact_versions_of_blob on holdfast.artifact_versions (blob_id) where blob_id is not null;
-- Saved by calls whose responses no event has yet.
create index artifact_versions_unmerged on holdfast.artifact_versions (scope) where seq is null;

-- Memories of users, across their sessions. `source` makes one memory of what is sent twice. `terms`: the words of its text, and the key of
-- its user, so that one index answers for one user. The embedding has length 1.
create table holdfast.memories (
  id bigint generated always as identity primary key,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  -- The session and the event that it is of; null where it was added by itself.
  session_id text collate "C",
  seq bigint,
  source text collate "C" not null,
  author text,
  content json not null,
  metadata json,
  said_at timestamptz not null,
  terms tsvector not null,
  words int not null,
  embedded_by text,
  embedding real[],
  created_at timestamptz not null default clock_timestamp(),
  unique (user_key, source)
);
create index memories_by_terms on holdfast.memories using gin (terms);
create index memories_of_session on holdfast.memories (session_id, seq) where session_id is not null;
create index memories_added on holdfast.memories (app_key, created_at) where session_id is null;

-- Named sets of documents of an app. Counts are for weights: of all passages, and in `corpus_terms` of those with each term.
create table holdfast.corpora (
  id bigint generated always as identity primary key,
  app_key text collate "C" not null,
  name text collate "C" not null,
  passages bigint not null default 0,
  words bigint not null default 0,
  updated_at timestamptz not null default clock_timestamp(),
  unique (app_key, name)
);

create table holdfast.corpus_terms (
  corpus_id bigint not null,
  term text collate "C" not null,
  passages bigint not null,
  primary key (corpus_id, term)
) with (fillfactor = 70);

-- Versions of documents. Not `loaded`: passages are still coming, or nobody sends them any more.
create table holdfast.corpus_documents (
  id bigint generated always as identity primary key,
  corpus_id bigint not null,
  path text collate "C" not null,
  digest text collate "C" not null,
  title text,
  passages int not null default 0,
  loaded boolean not null default false,
  unique (corpus_id, path, digest)
);

-- Parts of a document's text. `terms`: as those of memories, and the corpus.
create table holdfast.corpus_passages (
  id bigint generated always as identity primary key,
  document_id bigint not null,
  nth int not null,
  text text not null,
  line int,
  page int,
  terms tsvector not null,
  words int not null,
  embedded_by text,
  embedding real[],
  unique (document_id, nth)
);
create index corpus_passages_by_terms on holdfast.corpus_passages using gin (terms);
