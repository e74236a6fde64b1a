import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrations } from '../../../src/store/migrations/all.ts';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';

export function schemaSuite(store: () => PostgresStore): void {
  test.each(['events', 'ledger'])('%s can be hash-partitioned by session [store.schema]', async (table) => {
    const copy = `${table}_partitioned`;
    await sql
      .raw(
        `create table holdfast.${copy} (like holdfast.${table} including all) partition by hash (session_id);
         create table holdfast.${copy}_0 partition of holdfast.${copy} for values with (modulus 2, remainder 0);
         drop table holdfast.${copy}`,
      )
      .execute(store().db);
  });

  test('one index of a table begins with the session, so that no look-up can read a whole session', async () => {
    const { rows } = await sql<{ table: string; indexes: number }>`
      select i.indrelid::regclass::text as table, count(*)::int as indexes
      from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where n.nspname = 'holdfast' and i.indpred is null and a.attname = 'session_id'
      group by 1 order by 1`.execute(store().db);
    expect(rows).toEqual([
      { table: 'holdfast.audit', indexes: 1 },
      { table: 'holdfast.events', indexes: 1 },
      { table: 'holdfast.inbox', indexes: 1 },
      { table: 'holdfast.ledger', indexes: 1 },
      { table: 'holdfast.runs', indexes: 1 },
    ]);
  });

  test('the migrations are recorded [store.schema]', async () => {
    const { rows } = await sql<{ name: string }>`
      select name from holdfast.migrations order by version`.execute(store().db);
    expect(rows.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
  });
}
