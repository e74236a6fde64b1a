import type { Kysely } from 'kysely';
import type pg from 'pg';
import { postgresApprovals } from './approvals/postgres-approvals.ts';
import { postgresArtifacts } from './artifacts/postgres-artifacts.ts';
import { postgresBlobs } from './artifacts/postgres-blobs.ts';
import { postgresCorpora } from './corpora/postgres-corpora.ts';
import { postgresCredentials } from './credentials/postgres-credentials.ts';
import { Database, type DatabaseOptions } from './engine/database.ts';
import { migrate } from './engine/migrate.ts';
import { CountedClock } from './engine/store-clock.ts';
import type { Tables } from './engine/tables.ts';
import { postgresJobs } from './jobs/postgres-jobs.ts';
import { postgresKeys } from './keys/postgres-keys.ts';
import { LiveNotices } from './live/live-notices.ts';
import { PostgresExchange, type PostgresExchangeOptions } from './live/postgres-exchange.ts';
import { postgresMemories } from './memories/postgres-memories.ts';
import { postgresMessages } from './messages/postgres-messages.ts';
import { postgresNotices } from './notices/postgres-notices.ts';
import { postgresSessions } from './sessions/postgres-sessions.ts';
import type { Store } from './store.ts';
import { postgresTurns } from './turns/postgres-turns.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  onProgress?: (line: string) => void;
  /** Other processes use the database: they are told what this one does. */
  exchange?: PostgresExchangeOptions;
  /** Of the embedded store: where other processes of this user join it. They forward their notices. */
  socket?: string;
  /** Runs after the pool has ended. */
  onClose?: () => Promise<void>;
}

/**
 * The store over a pool of PostgreSQL connections, embedded or not. Writes that belong together are one statement, and
 * prepared ones are given up where they get lost, so that poolers in transaction mode work.
 */
export interface PostgresStore extends Store {
  readonly live: LiveNotices;
  /** Queries on the store's own pool. Its tables are read at one's own risk: they change between releases. */
  readonly db: Kysely<Tables>;
  /** Of the embedded store that this process owns: what `openStore({ socket })` takes in its other processes. */
  readonly socket: string | undefined;
}

/**
 * Migrates the pool's database if its schema is older. The store ends the pool when it is closed, not when this fails.
 *
 * @throws StoreUnavailable, InvalidStoreUrl
 */
export async function openPostgresStore(
  pool: pg.Pool,
  options: PostgresStoreOptions = {},
): Promise<PostgresStore> {
  const { onProgress = () => undefined, onClose, exchange, socket, ...rest } = options;
  const database = new Database(pool, rest);
  await migrate(database, onProgress);
  const live = new LiveNotices({ isOwner: socket !== undefined });
  if (exchange) live.connect(await PostgresExchange.open(database, live, exchange));
  const clock = new CountedClock(database);
  const end = async () => {
    try {
      await live.exchange?.close();
      await database.close();
    } finally {
      await onClose?.();
    }
  };
  let closing: Promise<void> | undefined;
  return {
    turns: postgresTurns(database, live),
    sessions: postgresSessions(database, live),
    messages: postgresMessages(database),
    approvals: postgresApprovals(database, live),
    jobs: postgresJobs(database, live),
    credentials: postgresCredentials(database),
    notices: postgresNotices(database),
    keys: postgresKeys(database),
    artifacts: postgresArtifacts(database),
    blobs: postgresBlobs(database),
    memories: postgresMemories(database),
    corpora: postgresCorpora(database),
    live,
    db: database.db,
    socket,
    now: () => clock.now(),
    close() {
      closing ??= end();
      return closing;
    },
  };
}
