import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { STORE_SCHEMA } from '../../../../src/store/schema/store-schema.ts';
import { watchingReads } from '../statements.ts';
import { newNames, Turn, USAGE } from '../turns/turn.ts';

/** Of one table, for a statement of a short turn. */
const MOST_ROWS = 40;

export function schemaSuite(store: () => PostgresStore): void {
  test.each(['events', 'ledger', 'jobs'])(
    '%s can be hash-partitioned by session [store.schema]',
    async (table) => {
      const copy = `${table}_partitioned`;
      await sql
        .raw(
          `create table holdfast.${copy} (like holdfast.${table} including all) partition by hash (session_id);
         create table holdfast.${copy}_0 partition of holdfast.${copy} for values with (modulus 2, remainder 0);
         drop table holdfast.${copy}`,
        )
        .execute(store().db);
    },
  );

  test('no statement of a turn reads the session’s other turns, however often it was planned [store.read]', async () => {
    const names = newNames();
    const long = new Turn(store(), { names });
    await long.opened(1);
    const rows = Array.from({ length: 300 }, (_, index) => ({
      callKey: long.callKey(1, index),
      index,
      callId: `call_${index}`,
      tool: 'pay',
      response: { ok: index },
    }));
    await long.commit(1, 300, { rows });
    await long.opened(2);
    await long.commit(2, 0);
    for (let nth = 0; nth < 150; nth += 1) {
      const short = new Turn(store(), { names });
      await short.opened(1, { knownSeq: 1_000 });
      await short.commit(1, 0);
    }
    const watched = await watchingReads(async () => {
      // A plan is made for its parameters five times, then for any.
      for (let nth = 0; nth < 8; nth += 1) {
        const turn = new Turn(store(), { names });
        const { seq } = await turn.opened(1, { session: long.session, knownSeq: 1_000 });
        await turn.commit(1, 5);
        await turn.begin(1, 0);
        await turn.begin(1, 4);
        await Promise.all([turn.begin(1, 1), turn.begin(1, 2)]);
        await turn.settle(1, 0, { ok: true });
        await Promise.all([turn.settle(1, 1, { ok: true }), turn.settle(1, 2, { ok: true })]);
        await turn.settle(1, 3, { ok: true });
        if (nth % 2 === 0) await turn.settle(1, 4, { ok: true });
        await store().turns.recordCallFailure({
          session: turn.session,
          callKey: turn.callKey(1, 4),
          error: 'no',
          attempt: 1,
        });
        if (nth % 2 === 1) await turn.end(1, [], { status: 'interrupted', usage: USAGE });
        else {
          await turn.opened(2, { knownSeq: seq + 1 });
          await turn.commit(2, 0);
        }
        // Another process, which has to read what they share.
        const other = new Turn(store(), { names });
        await other.opened(1, { session: long.session, knownSeq: 1_000 });
        await other.commit(1, 2);
        await Promise.all([other.begin(1, 0), other.begin(1, 1)]);
      }
    });
    expect(watched.length).toBeGreaterThan(80);
    const greedy = watched.flatMap(({ text, read }) =>
      Object.entries(read)
        .filter(([, count]) => count > MOST_ROWS)
        .map(([table, count]) => `${count} of ${table}: ${text.slice(0, 120)}`),
    );
    expect([...new Set(greedy)]).toEqual([]);
  });

  test('one index of a table begins with the session, so that no look-up can read a whole session', async () => {
    const { rows } = await sql<{ table: string; indexes: number }>`
      select i.indrelid::regclass::text as table, count(*)::int as indexes
      from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where n.nspname = 'holdfast' and i.indpred is null and a.attname = 'session_id'
      group by 1 order by 1`.execute(store().db);
    expect(rows).toEqual([
      { table: 'holdfast.approvals', indexes: 1 },
      { table: 'holdfast.audit', indexes: 1 },
      { table: 'holdfast.dead_notices', indexes: 1 },
      { table: 'holdfast.events', indexes: 1 },
      { table: 'holdfast.inbox', indexes: 1 },
      { table: 'holdfast.job_answers', indexes: 1 },
      { table: 'holdfast.jobs', indexes: 1 },
      { table: 'holdfast.ledger', indexes: 1 },
      { table: 'holdfast.notice_notes', indexes: 1 },
      { table: 'holdfast.responses', indexes: 1 },
      { table: 'holdfast.runs', indexes: 1 },
      { table: 'holdfast.signatures', indexes: 1 },
    ]);
  });

  test('what functions in SQL say of tables and of each other holds [store.schema]', async () => {
    // A store is made without a look at their bodies.
    const definitions = [...STORE_SCHEMA.functions.values()].filter((text) => /language sql\s/.test(text));
    expect(definitions.length).toBeGreaterThan(10);
    for (const definition of definitions) {
      const made = sql.raw(`set check_function_bodies = on; ${definition}`).execute(store().db);
      await expect(made, definition).resolves.toBeDefined();
    }
  });

  test('the migrations are recorded [store.schema]', async () => {
    const { rows } = await sql<{ name: string }>`
      select name from holdfast.migrations order by version`.execute(store().db);
    expect(rows.map(({ name }) => name)).toEqual(STORE_SCHEMA.changes.map(({ name }) => name));
  });
}
