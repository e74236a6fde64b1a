import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { InvocationOutcome, InvocationStatus } from '../protocol/turn.ts';
import type { Database } from './database.ts';
import { sessionKeys } from './session-key.ts';
import type { ReadEvents, RecordedInvocation, SessionNames, StoredEvent } from './store.ts';
import { type EventRow, storedEvent } from './stored-event.ts';
import type { Tables } from './tables.ts';

const DEFAULT_LIMIT = 1_000;

/** Builds statements; `Database` runs them, so that reads and writes fail and reconnect alike. */
const build = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
