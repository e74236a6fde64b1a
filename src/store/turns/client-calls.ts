import type { Content } from '../../events/content.ts';
import type { Database } from '../engine/database.ts';
import { sessionKeys } from '../sessions/session-key.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** A client answers the calls of the newest turn: older ones were answered, or never will be. */
const MOST_EVENTS = 100;

/**
 * Calls of a step that workers run stand in its row of the ledger, which is written together with its event. A fork reads both where
 * it comes from.
 */
const FIND = `
select e.body -> 'content' as content
from holdfast.sessions s
cross join lateral holdfast.lineage(s.id, null) p
join holdfast.events e on e.session_id = p.of_session and e.seq <= p.up_to and e.seq > s.last_seq - ${MOST_EVENTS}
  and e.kind = 'model'
join holdfast.ledger l on l.session_id = e.session_id and l.key = e.run_key || '.' || e.step
where s.name_key = $1 and l.status = 'settled' and coalesce(array_length(l.call_keys, 1), 0) = 0`;

export async function findClientCalls(database: Database, names: SessionNames): Promise<string[]> {
  const rows = await database.query<{ content: Content | null }>(FIND, [sessionKeys(names).name]);
  return rows.flatMap(({ content }) =>
    (content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
  );
}
