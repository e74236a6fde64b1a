import type { Database } from './database.ts';
import { PostgresKeptNotices } from './postgres-kept-notices.ts';
import type { SessionNames } from './session-names.ts';
import { findThread, hearSlack, keepThread, unhearSlack } from './slack-rows.ts';
import type { SlackStore, StoredThread } from './slack-store.ts';

/** What the store knows of Slack. */
export class PostgresSlack extends PostgresKeptNotices implements SlackStore {
  readonly #database: Database;

  constructor(database: Database) {
    super(database);
    this.#database = database;
  }

  hearSlack(id: string): Promise<boolean> {
    return hearSlack(this.#database, id);
  }

  unhearSlack(id: string): Promise<void> {
    return unhearSlack(this.#database, id);
  }

  keepThread(thread: StoredThread, names: SessionNames): Promise<void> {
    return keepThread(this.#database, thread, names);
  }

  findThread(thread: StoredThread): Promise<SessionNames | undefined> {
    return findThread(this.#database, thread);
  }
}
