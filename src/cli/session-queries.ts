import { sql } from 'kysely';
import type { OpenedStore } from '../store/open-store.ts';
import { type SessionNames, sessionKeys } from '../store/sessions/session-names.ts';
import { APPS } from '../store/sessions/session-tree.ts';

/** Whether it is the session of an agent that a call has run. */
export async function isBelow(store: OpenedStore, names: SessionNames): Promise<boolean> {
  const { rows } = await sql`
    select from holdfast.sessions s
    where s.name_key = ${sessionKeys(names).name} and s.root_session is not null`.execute(store.db);
  return rows.length > 0;
}

export async function appsOf(store: OpenedStore): Promise<string[]> {
  const { rows } = await APPS.execute(store.db);
  return rows.map(({ app }) => app);
}
