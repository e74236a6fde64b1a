import { resolve } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { PostgresStore } from './postgres-store.ts';
import { InvalidStoreUrl } from './store-errors.ts';

const DEFAULT_FOLDER = '.holdfast';
const DEFAULT_POOL_SIZE = 10;
const APPLICATION_NAME = 'holdfast';
const CONNECT_TIMEOUT = 15_000;
const QUERY_TIMEOUT = 60_000;

export type OpenedStore = PostgresStore;

export interface OpenStoreOptions {
  /** `postgres://` or `postgresql://` URL. Without one the store is embedded. */
  url?: string;
  /** Where the embedded store lives, in `store/`. Defaults to `.holdfast`. */
  folder?: string;
  /** Connections to the server at `url`, at most. Defaults to 10. The embedded store has one. */
  poolSize?: number;
  /** Told what takes seconds: the first initialisation, migrations. */
  onProgress?: (line: string) => void;
}

/**
 * Opens the store: PostgreSQL at `url`, else PGlite in a thread of this process. The schema `holdfast` is made or
 * migrated. One process at a time can have a folder open.
 *
 * @throws InvalidStoreUrl, StoreUnavailable, StoreInUse
 * @example
 * const store = await openStore({ folder: '.holdfast' });
 * const events = await store.readEvents({ app: 'shop', userId: 'ada', sessionId: 's1' });
 * await store.close();
 */
export async function openStore(options: OpenStoreOptions = {}): Promise<OpenedStore> {
  return options.url === undefined ? openEmbedded(options) : openServer(options.url, options);
}

async function openServer(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const pool = new pg.Pool({
    connectionString: checkedUrl(url),
    application_name: APPLICATION_NAME,
    max: options.poolSize ?? DEFAULT_POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    keepAlive: true,
  });
  return await openPool(pool, options);
}

async function openEmbedded(options: OpenStoreOptions): Promise<OpenedStore> {
  const folder = resolve(options.folder ?? DEFAULT_FOLDER);
  const embedded = await startEmbeddedPostgres(folder, options.onProgress ?? (() => undefined));
  const pool = new pg.Pool({
    stream: embedded.connection,
    user: 'postgres',
    database: 'postgres',
    application_name: APPLICATION_NAME,
    // Its multiplexer isn't guaranteed for all uses of more than one.
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    ssl: false,
  });
  try {
    return await openPool(pool, {
      ...options,
      place: `embedded in ${folder}`,
      gone: embedded.gone,
      onClose: embedded.close,
    });
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

async function openPool(
  pool: pg.Pool,
  options: Parameters<typeof PostgresStore.open>[1],
): Promise<OpenedStore> {
  try {
    return await PostgresStore.open(pool, options);
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Never echoes the URL, which may hold a password. */
function checkedUrl(url: string): string {
  const scheme = /^(postgres|postgresql):\/\//.test(url);
  if (scheme && parses(url)) return url;
  throw new InvalidStoreUrl(
    `url: ${scheme ? 'this postgres:// URL is malformed (special characters of a password are percent-encoded)' : 'a store’s URL starts with postgres:// or postgresql://'}; ` +
      'use postgres://user:password@host:5432/database',
  );
}

function parses(connectionString: string): boolean {
  try {
    new pg.Client({ connectionString });
    return true;
  } catch {
    // The parser's own error carries the URL.
    return false;
  }
}
