import { resolve } from 'node:path';
import pg from 'pg';
import * as option from '../schema/option-kinds.ts';
import { type Field, OptionReader } from '../schema/options.ts';
import { joinEmbedded, openEmbedded } from './engine/open-embedded.ts';
import { APPLICATION_NAME, openPool, type PoolTimeouts } from './engine/open-pool.ts';
import type { PostgresStore } from './postgres-store.ts';
import { InvalidStoreUrl } from './store-errors.ts';

const DEFAULT_FOLDER = '.holdfast';
const LONGEST_TIMER = 2 ** 31 - 1;
/** Milliseconds until the system asks an idle connection's other end whether it is there. */
const KEEP_ALIVE_DELAY = 30_000;

export type OpenedStore = PostgresStore;

export interface OpenStoreOptions {
  /** `postgres://` or `postgresql://` URL. Without one the store is embedded. */
  url?: string;
  /**
   * With `url`: URL of a connection that hears what other processes do, by LISTEN, so that followers here learn of it at
   * once and get partial text. It leads to the same database, not through a pooler in transaction mode. It comes back by
   * itself where it is lost, and no write waits for it. Without one, followers of what other processes do look twice a
   * second and get no partial text. (What this process does is always sent, by NOTIFY through `url`.)
   */
  listen?: string;
  /** Folder of the embedded store, which lives in `store/`. Defaults to `.holdfast`. */
  folder?: string;
  /**
   * A folder in which ready-made embedded stores are kept, one for each version of PGlite and of the schema: `folder` starts
   * with a copy of one, where it has no store yet. Folder and store are made where they are missing. Initialising a store
   * takes seconds, a copy a fraction of one. Without it each new store is initialised.
   */
  template?: string;
  /**
   * Joins the embedded store that another process of this user owns, by that store's `socket`. It ends with its owner. Notices
   * for the owner's followers are sent to the owner, who gives them to `hear`.
   */
  socket?: string;
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
  /** Told of work that takes seconds: the first initialisation, migrations, and waiting for another process's migration. */
  onProgress?: (line: string) => void;
}

/**
 * Opens the store: PostgreSQL at `url`, else PGlite in a thread of this process. The schema `holdfast` is made or migrated. One
 * process at a time can have a folder open, and others join it by its `socket`; `url` may lead to a pooler in transaction mode.
 *
 * @throws InvalidStoreUrl, StoreUnavailable, StoreInUse, HOLDFAST_STORE_SCHEMA_MISMATCH, DefinitionError where an option is wrong
 * @example
 * const store = await openStore({ folder: '.holdfast' });
 * const events = await store.sessions.readEvents({ app: 'shop', userId: 'ada', sessionId: 's1' });
 * await store.close();
 */
export async function openStore(options: OpenStoreOptions = {}): Promise<OpenedStore> {
  const read = new OptionReader('openStore', options);
  const poolSize = option.count(10)(read, 'poolSize');
  const timeouts = {
    connectionTimeoutMillis: milliseconds(15_000)(read, 'connectTimeout'),
    query_timeout: milliseconds(60_000)(read, 'queryTimeout'),
  };
  const { url, socket, template, onProgress = () => undefined } = options;
  if (url === undefined && read.given('listen')) read.fail('listen', 'goes with `url` only');
  if (url !== undefined && read.given('socket')) read.fail('socket', "doesn't go with `url`");
  if (url !== undefined) return await openServer(url, options, { ...timeouts, max: poolSize });
  if (socket !== undefined)
    return await joinEmbedded(option.required(option.text())(read, 'socket'), timeouts);
  const folder = resolve(options.folder ?? DEFAULT_FOLDER);
  return await openEmbedded(folder, { onProgress, timeouts, template });
}

function milliseconds(byDefault: number): Field<number, number> {
  return option.checked(option.count(byDefault), (ms) =>
    ms > LONGEST_TIMER ? `expected at most ${LONGEST_TIMER} ms` : undefined,
  );
}

async function openServer(
  url: string,
  { listen, onProgress = () => undefined }: OpenStoreOptions,
  limits: Required<PoolTimeouts> & { max: number },
): Promise<OpenedStore> {
  const config = {
    connectionString: checkedUrl('url', url),
    // A pooler takes `application_name` at the start of a connection, and few other settings.
    application_name: APPLICATION_NAME,
    ...limits,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
  };
  const connectTimeout = limits.connectionTimeoutMillis;
  const exchange =
    listen === undefined ? {} : { listen: { url: checkedUrl('listen', listen), connectTimeout } };
  return await openPool(config, { onProgress, exchange });
}

/**
 * Never echoes the URL, which may hold a password.
 *
 * @param option that it was given as
 * @throws InvalidStoreUrl
 */
function checkedUrl(option: 'url' | 'listen', url: string): string {
  const scheme = /^(postgres|postgresql):\/\//.test(url);
  if (scheme && parses(url)) return url;
  throw new InvalidStoreUrl(
    `${option}: ${scheme ? 'this postgres:// URL is malformed (special characters of a password are percent-encoded)' : 'a store’s URL starts with postgres:// or postgresql://'}; ` +
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
