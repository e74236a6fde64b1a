import type { Database } from './engine/database.ts';
import { findThread, hearSlack, keepThread } from './messages/slack-rows.ts';
import type { SlackStore, StoredThread } from './messages/slack-store.ts';
import { PostgresKeptNotices } from './postgres-kept-notices.ts';
import type { SessionNames } from './sessions/session-names.ts';

/** What the store knows of Slack. */
export class PostgresSlack extends PostgresKeptNotices implements SlackStore {
  readonly #database: Database;

  constructor(database: Database) {
    super(database);
    this.#database = database;
  }

  hearSlack(heard: Parameters<SlackStore['hearSlack']>[0]): Promise<boolean> {
    return hearSlack(this.#database, heard);
  }

  keepThread(thread: StoredThread, names: SessionNames): Promise<void> {
    return keepThread(this.#database, thread, names);
  }

  findThread(thread: StoredThread): Promise<SessionNames | undefined> {
    return findThread(this.#database, thread);
  }
}
