import { sql } from 'kysely';
import type { OpenedStore } from '../store/open-store.ts';
import { type SessionNames, sessionKeys } from '../store/sessions/session-names.ts';

/** Whether it is the session of an agent that a call has run. */
export async function isBelow(store: OpenedStore, names: SessionNames): Promise<boolean> {
  const { rows } = await sql`
    select from holdfast.sessions s
    where s.name_key = ${sessionKeys(names).name} and s.root_session is not null`.execute(store.db);
  return rows.length > 0;
}

/** From each app's first index entry to the next app's, however many sessions there are. */
export async function appsOf(store: OpenedStore): Promise<string[]> {
  const { rows } = await sql<{ app: string }>`
    with recursive found as (
      (select app, app_key from holdfast.sessions where root_session is null order by app_key limit 1)
      union all
      select next.app, next.app_key from found,
        lateral (
          select s.app, s.app_key from holdfast.sessions s
          where s.app_key > found.app_key and s.root_session is null order by s.app_key limit 1
        ) next
    ) select app from found order by app`.execute(store.db);
  return rows.map(({ app }) => app);
}
