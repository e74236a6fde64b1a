import { resolve } from 'node:path';
import pg from 'pg';
import { OptionReader } from '../schema/option-reader.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { PostgresStore } from './postgres-store.ts';
import { InvalidStoreUrl } from './store-errors.ts';

const DEFAULT_FOLDER = '.holdfast';
const DEFAULT_POOL_SIZE = 10;
const APPLICATION_NAME = 'holdfast';
const DEFAULT_CONNECT_TIMEOUT = 15_000;
const DEFAULT_QUERY_TIMEOUT = 60_000;
const LONGEST_TIMER = 2 ** 31 - 1;
/** Milliseconds until the system asks an idle connection's other end whether it is there. */
const KEEP_ALIVE_DELAY = 30_000;

export type OpenedStore = PostgresStore;

export interface OpenStoreOptions {
  /** `postgres://` or `postgresql://` URL. Without one the store is embedded. */
  url?: string;
  /** Where the embedded store lives, in `store/`. Defaults to `.holdfast`. */
  folder?: string;
  /**
   * Connections to the server at `url`, at most. Calls beyond that wait for one, for `connectTimeout` at most. Every
   * process has its own. Defaults to 10. The embedded store has one.
   */
  poolSize?: number;
  /**
   * Milliseconds until a call that gets no connection fails with StoreUnavailable, because the server doesn't answer or
   * all connections are in use. Defaults to 15,000.
   */
  connectTimeout?: number;
  /**
   * Milliseconds until a statement that gets no answer fails with StoreUnavailable, and its connection is given up.
   * Migrations have no limit. Defaults to 60,000.
   */
  queryTimeout?: number;
  /** Told what takes seconds: the first initialisation, migrations, and waiting for another process's. */
  onProgress?: (line: string) => void;
}

/**
 * Opens the store: PostgreSQL at `url`, else PGlite in a thread of this process. The schema `holdfast` is made or
 * migrated. One process at a time can have a folder open; a server at `url` may stand behind a pooler in transaction mode.
 *
 * @throws InvalidStoreUrl, StoreUnavailable, StoreInUse, StoreSchemaMismatch, DefinitionError where an option is wrong
 * @example
 * const store = await openStore({ folder: '.holdfast' });
 * const events = await store.readEvents({ app: 'shop', userId: 'ada', sessionId: 's1' });
 * await store.close();
 */
export async function openStore(options: OpenStoreOptions = {}): Promise<OpenedStore> {
  const read = new OptionReader('openStore', options);
  const poolSize = read.count('poolSize', DEFAULT_POOL_SIZE);
  const timeouts = {
    connectionTimeoutMillis: milliseconds(read, 'connectTimeout', DEFAULT_CONNECT_TIMEOUT),
    query_timeout: milliseconds(read, 'queryTimeout', DEFAULT_QUERY_TIMEOUT),
  };
  return options.url === undefined
    ? openEmbedded(options, timeouts)
    : openServer(options.url, options, { ...timeouts, max: poolSize });
}

function milliseconds(read: OptionReader, name: string, defaultMs: number): number {
  const ms = read.count(name, defaultMs);
  return ms > LONGEST_TIMER ? read.fail(name, `expected at most ${LONGEST_TIMER} ms`) : ms;
}

type Timeouts = Pick<pg.PoolConfig, 'connectionTimeoutMillis' | 'query_timeout'>;

async function openServer(
  url: string,
  options: OpenStoreOptions,
  limits: Timeouts & Pick<pg.PoolConfig, 'max'>,
): Promise<OpenedStore> {
  const pool = new pg.Pool({
    connectionString: checkedUrl(url),
    // Nothing that is sent at the start of a connection but what a pooler takes: application_name it does.
    application_name: APPLICATION_NAME,
    ...limits,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
  });
  return await openPool(pool, options);
}

async function openEmbedded(options: OpenStoreOptions, timeouts: Timeouts): Promise<OpenedStore> {
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
    ...timeouts,
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
