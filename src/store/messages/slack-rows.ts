import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { SlackStore, StoredThread } from './slack-store.ts';

const KEEP_THREAD = `insert into holdfast.slack_threads (thread, app, user_id, name) values ($1, $2, $3, $4)
on conflict (thread) do nothing`;

export async function hearSlack(
  database: Database,
  { id, holder }: Parameters<SlackStore['hearSlack']>[0],
): Promise<boolean> {
  const [row] = await database.query<{ heard: boolean }>('select holdfast.hear_slack($1, $2) as heard', [
    storableText(id),
    storableText(holder),
  ]);
  return row?.heard === true;
}

export async function keepThread(
  database: Database,
  thread: StoredThread,
  { app, userId, sessionId }: SessionNames,
): Promise<void> {
  await database.query(KEEP_THREAD, [keyOf(thread), ...[app, userId, sessionId].map(storableText)]);
}

export async function findThread(
  database: Database,
  thread: StoredThread,
): Promise<SessionNames | undefined> {
  const [row] = await database.query<{ app: string; user_id: string; name: string }>(
    'select app, user_id, name from holdfast.slack_threads t where t.thread = $1',
    [keyOf(thread)],
  );
  return row && { app: row.app, userId: row.user_id, sessionId: row.name };
}

function keyOf({ team, channel, ts }: StoredThread): string {
  return storableText(`${team}:${channel}:${ts}`);
}
