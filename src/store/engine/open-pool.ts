import pg from 'pg';
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '../postgres-store.ts';

export const APPLICATION_NAME = 'holdfast';

export interface PoolTimeouts {
  connectionTimeoutMillis?: number;
  query_timeout?: number;
}

/** Over PGlite, which has one connection for each process. */
export function pgliteConfig(
  stream: NonNullable<pg.PoolConfig['stream']>,
  timeouts: PoolTimeouts,
): pg.PoolConfig {
  return {
    stream,
    user: 'postgres',
    database: 'postgres',
    application_name: APPLICATION_NAME,
    max: 1,
    idleTimeoutMillis: 0,
    ...timeouts,
    ssl: false,
  };
}

/** Ends the pool where the store can't be opened. */
export async function openPool(config: pg.PoolConfig, options: PostgresStoreOptions): Promise<PostgresStore> {
  const pool = new pg.Pool(config);
  try {
    return await openPostgresStore(pool, options);
  } catch (error) {
    await pool.end();
    throw error;
  }
}
