import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AuditRow } from '../../../../src/contract/audit.ts';
import { canonicalJson } from '../../../../src/protocol/canonical-json.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { newNames, Turn } from '../turns/turn.ts';

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** The chain as `AuditRow.hash` describes it. */
function chain(session: string, rows: readonly AuditRow[]): string[] {
  const hashes: string[] = [];
  for (const { n, at, kind, facts } of rows) {
    hashes.push(hashOf(canonicalJson([hashes.at(-1) ?? '', session, n, at, kind, facts])));
  }
  return hashes;
}

export function auditSuite(store: () => PostgresStore): void {
  test('what is done to a session is audited, chained, and kept after its deletion [session.delete]', async () => {
    const names = { ...newNames(), userId: 'ada@example.com', sessionId: 'secret plans' };
    const { session } = await store().sessions.create({ ...names, state: { secret: 'plans' } });
    const turn = new Turn(store(), { names });
    await turn.opened(1, { text: 'secret plans' });
    await turn.commit(1, 0);
    await store().sessions.rewind({ ...names, beforeInvocationId: turn.invocationId });
    const fork = await store().sessions.fork({ ...names, at: 2, to: 'secret fork' });
    const before = Date.now();
    await store().sessions.delete({ ...names, withForks: true });

    const rows = await store().sessions.readAudit(session);
    expect(rows.map(({ n, kind, facts }) => [n, kind, facts])).toEqual([
      [1, 'created', {}],
      [2, 'rewound', { seq: 3, hidesAfter: 0, beforeInvocationId: turn.invocationId }],
      [3, 'deleted', { events: 3 }],
    ]);
    expect(rows[2]?.at).toBeGreaterThanOrEqual(before - 1_000);
    expect(rows.map(({ hash }) => hash)).toEqual(chain(session, rows));
    const forked = await store().sessions.readAudit(fork.session);
    expect(forked.map(({ n, kind, facts }) => [n, kind, facts])).toEqual([
      [1, 'forked', { from: session, seq: 2 }],
      [2, 'deleted', { events: 0 }],
    ]);
    expect(forked.map(({ hash }) => hash)).toEqual(chain(fork.session, forked));
    const kept = JSON.stringify([rows, forked].flat().map(({ hash: _hash, ...row }) => row));
    for (const content of ['secret', 'plans', 'example.com', names.app]) expect(kept).not.toContain(content);
  });

  test('a session that a turn made has a row of its deletion only, and nothing is known of none', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    expect(await store().sessions.readAudit(turn.session)).toEqual([]);
    await store().sessions.delete(turn.names);
    expect(await store().sessions.readAudit(turn.session)).toMatchObject([
      { n: 1, kind: 'deleted', facts: { events: 1 } },
    ]);
    expect(await store().sessions.readAudit('nothing')).toEqual([]);
  });
}
