import pg from 'pg';
import { vi } from 'vitest';

/** Rows that a statement read, by table; what it only found out about through an index isn't counted. */
export type RowsRead = Record<string, number>;

export interface WatchedStatement {
  text: string;
  read: RowsRead;
}

interface Statement {
  text: string;
}

type Query = (this: pg.Client, statement: Statement | string, ...more: unknown[]) => Promise<pg.QueryResult>;
type Intercept = (client: pg.Client, statement: Statement, send: Query) => Promise<pg.QueryResult>;

const ROWS_READ = `select relname, (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
  where schemaname = 'holdfast'`;

/** Sees the store's own reads and writes, on any of its connections: they and its notices alone are sent as objects. */
export async function intercepting<T>(intercept: Intercept, run: () => Promise<T>): Promise<T> {
  const send = pg.Client.prototype.query as unknown as Query;
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  spy.mockImplementation(function (this: pg.Client, statement: Statement | string, ...more: unknown[]) {
    return typeof statement === 'object' && !statement.text.includes('pg_notify')
      ? intercept(this, statement, send)
      : send.call(this, statement, ...more);
  } as never);
  try {
    return await run();
  } finally {
    spy.mockRestore();
  }
}

/** Every statement is executed, and loses its connection before the answer; then it is let through. */
export function losingAnswers<T>(run: () => Promise<T>): Promise<T> {
  const lost = new Set<string>();
  return intercepting(async (client, statement, send) => {
    const result = await send.call(client, statement);
    if (lost.has(statement.text)) return result;
    lost.add(statement.text);
    throw new Error('Connection terminated unexpectedly');
  }, run);
}

export async function watchingReads(run: () => Promise<unknown>): Promise<WatchedStatement[]> {
  const watched: WatchedStatement[] = [];
  await intercepting(async (client, statement, send) => {
    const rows = async () => {
      const { rows } = await send.call(client, ROWS_READ);
      return new Map(rows.map(({ relname, rows }) => [relname as string, rows as number]));
    };
    await send.call(client, 'begin');
    const before = await rows();
    const result = await send.call(client, statement);
    const read = [...(await rows())].map(([table, count]) => [table, count - (before.get(table) ?? 0)]);
    await send.call(client, 'commit');
    watched.push({ text: statement.text, read: Object.fromEntries(read) });
    return result;
  }, run);
  return watched;
}
