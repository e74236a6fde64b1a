import type { Content } from '../events/content.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import type { ChildOutcome, ChildSession } from './child-store.ts';
import type { Database } from './database.ts';
import { storableText } from './json-text.ts';
import { sessionKeys } from './session-key.ts';
import type { SessionNames } from './session-names.ts';

const END = 'select holdfast.end_child_1($1, $2) as answer';

interface EndAnswer {
  session: string;
  outcome: InvocationOutcome;
  stateDelta: Record<string, unknown>;
  content: Content | null;
}

export async function endChild(
  database: Database,
  parent: string,
  runKey: string,
): Promise<ChildOutcome | undefined> {
  const [row] = await database.query<{ answer: EndAnswer | null }>(END, [parent, storableText(runKey)]);
  if (!row?.answer) return undefined;
  const { content, ...ended } = row.answer;
  return { ...ended, text: content === null ? undefined : textOf(content) };
}

function textOf({ parts = [] }: Content): string {
  return parts.flatMap(({ text, thought }) => (text && !thought ? [text] : [])).join('\n');
}

export async function listChildren(database: Database, names: SessionNames): Promise<ChildSession[]> {
  const rows = await database.read(
    database.db
      .selectFrom('holdfast.sessions as r')
      .innerJoin('holdfast.sessions as c', 'c.root_session', 'r.id')
      .innerJoin('holdfast.runs as n', (on) =>
        on.onRef('n.session_id', '=', 'c.id').onRef('n.run_key', '=', 'c.name'),
      )
      .select(['c.id', 'c.name', 'c.last_seq', 'c.agent_path', 'c.call_key', 'c.caller_session', 'n.status'])
      .where('r.name_key', '=', sessionKeys(names).name)
      .orderBy('c.created_at')
      .orderBy('c.id')
      .compile(),
  );
  return rows.map((row) => ({
    session: row.id,
    runKey: row.name,
    seq: Number(row.last_seq),
    status: row.status,
    path: row.agent_path ?? [],
    callKey: row.call_key ?? '',
    parent: row.caller_session ?? '',
  }));
}
