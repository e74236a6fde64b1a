import { createHash } from 'node:crypto';
import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { defined } from '../../protocol/json.ts';
import {
  ArtifactCollected,
  Fenced,
  MessageConflict,
  NotARootSession,
  StoreBehindHistory,
  StoreError,
  StoreFailed,
  StoreUnavailable,
  Unstorable,
} from '../store-errors.ts';
import type { Tables } from './tables.ts';

/** SQLSTATEs of the store's own SQL functions. */
const OWN_STATES: Record<string, new (message: string, options?: ErrorOptions) => StoreError> = {
  HF001: Fenced,
  HF002: StoreBehindHistory,
  HF004: MessageConflict,
  HF005: NotARootSession,
  HF006: ArtifactCollected,
};

/** Connection, authorization, resources, operator intervention, system; a lock that can't be had; the server's timeouts. */
const UNAVAILABLE_STATES = /^(08|28|53|57|58|3D000|40001|40P01|55P03|25006|25P0[34])/;
/** The transaction was rolled back or its connection cut: the same call may be repeated at once. */
const REPEATABLE_STATES = /^(08|57P01|57P02|40001|40P01)/;
/** As it was about to call a function, a migration has put one with other parameters in its place. */
const REPLACED_FUNCTION = /^(42883|XX000 cache lookup failed for function)/;
/** A prepared statement that isn't there, or is there already. */
const LOST_STATEMENT_STATES = /^(26000|42P05)$/;
/** A prepared statement has another result than when it was prepared: a table has a column more. */
const OTHER_RESULT = '0A000';
const DISK_FULL = '53100';
/** Invalid data, null where there must be a value, program limits, statement too complex. */
const UNSTORABLE_STATES = /^(22|23502|54)/;

/** pg gives its own timeouts no code. */
const QUERY_TIMEOUT = 'Query read timeout';
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

/** In a statement: its transaction commits without waiting for the disk. A crash of the database server may forget it. */
export const UNAWAITED = `set_config('synchronous_commit', 'off', true)`;

export interface DatabaseOptions {
  /** How errors call the database. Defaults to the pool's host, port and database. */
  place?: string;
  /** Why the database is gone for good, where that is known. */
  gone?: () => Error | undefined;
  /** The error for a failed connection, where that says more than the driver's. */
  meaning?: (error: unknown) => string | undefined;
  /** Sends statements by name, prepared once per connection. Defaults to true. */
  prepares?: boolean;
  /** It is PGlite, whose log no process of its own writes to the disk: each commit does. Defaults to false. */
  isEmbedded?: boolean;
}

/** A pool whose failures are the store's errors, and whose calls outlive a dropped connection. */
export class Database {
  /** Builds statements for `read`. Run directly, they fail with pg's own errors. */
  readonly db: Kysely<Tables>;
  /** How errors call the database. */
  readonly place: string;
  readonly isEmbedded: boolean;
  readonly #pool: pg.Pool;
  readonly #gone: () => Error | undefined;
  readonly #meaning: (error: unknown) => string | undefined;
  readonly #tries: number;
  /** Of prepared statements, by their texts. */
  readonly #names = new Map<string, string>();
  #prepares: boolean;
  #closed = false;

  constructor(pool: pg.Pool, options: DatabaseOptions = {}) {
    this.db = new Kysely({ dialect: new PostgresDialect({ pool }) });
    this.#pool = pool;
    this.place = options.place ?? placeOf(pool.options);
    this.isEmbedded = options.isEmbedded ?? false;
    // All idle connections can be dead, and each is noticed when it is used.
    this.#tries = pool.options.max + 2;
    this.#gone = options.gone ?? (() => undefined);
    this.#meaning = options.meaning ?? (() => undefined);
    this.#prepares = options.prepares ?? true;
    // A connection that drops is told to its query, or to nobody while idle: the pool opens another one.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /**
   * Runs one statement. It must be safe to repeat: it is, where the connection drops before the answer.
   *
   * @throws Fenced, StoreBehindHistory, StoreUnavailable, MessageConflict, Unstorable, StoreFailed
   */
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    for (let tried = 1; ; tried += 1) {
      const outcome = await this.#try<Row>(text, values);
      if ('rows' in outcome) return outcome.rows;
      if (!outcome.repeatable || tried === this.#tries) throw this.#translated(outcome.error);
    }
  }

  read<Row>(query: CompiledQuery<Row>): Promise<Row[]> {
    return this.query<Row>(query.sql, query.parameters);
  }

  /** Runs statements on one connection; it is destroyed where one fails. */
  async withConnection<T>(run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const result = await run(client);
      client.release();
      return result;
    } catch (error) {
      client?.release(true);
      throw this.#translated(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#pool.end();
  }

  async #try<Row>(
    text: string,
    values: readonly unknown[],
  ): Promise<{ rows: Row[] } | { error: unknown; repeatable: boolean }> {
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return { error, repeatable: false };
    }
    const name = this.#nameOf(text);
    try {
      const { rows } = await client.query({
        text,
        values: values as unknown[],
        ...defined({ name }),
      });
      client.release();
      return { rows };
    } catch (error) {
      const state = stateOf(error);
      const dropped = state === undefined || UNAVAILABLE_STATES.test(state);
      client.release(dropped);
      if (state === undefined) return { error, repeatable: isOperational(error) && !isTimeout(error) };
      // Others that were sent by name fail with this one, and are repeated too.
      const lost = name !== undefined && LOST_STATEMENT_STATES.test(state);
      if (lost) this.#prepares = false;
      const outdated = name !== undefined && state === OTHER_RESULT;
      if (outdated) this.#rename(text, name);
      const replaced = REPLACED_FUNCTION.test(`${state} ${(error as Error).message}`);
      return { error, repeatable: lost || outdated || replaced || REPEATABLE_STATES.test(state) };
    }
  }

  /**
   * A statement is parsed and planned once per connection: a third of a short one's time.
   *
   * A pooler that hands each transaction to another connection, and doesn't keep track of prepared statements, loses
   * them: from then on they are sent whole. Names are digests of their texts, so one can never stand for another.
   */
  #nameOf(text: string): string | undefined {
    if (!this.#prepares) return undefined;
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `holdfast_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
      this.#names.set(text, name);
    }
    return name;
  }

  /** All connections prepare it anew, under a name that none of them has. */
  #rename(text: string, name: string): void {
    // Another connection's statement may have come first.
    if (this.#names.get(text) === name) this.#names.set(text, nextName(name));
  }

  #translated(error: unknown): unknown {
    if (error instanceof StoreError) return error;
    const state = stateOf(error);
    if (state === undefined) {
      return isOperational(error) ? this.#unavailable(error) : error;
    }
    const { message } = error as Error;
    const Own = OWN_STATES[state];
    if (Own) return new Own(message);
    if (UNAVAILABLE_STATES.test(state)) return this.#unavailable(error);
    if (UNSTORABLE_STATES.test(state)) {
      return new Unstorable(`the store can't hold this value: ${message}`, { cause: error });
    }
    return new StoreFailed(`the store failed (${this.place}): ${message} (SQLSTATE ${state})`, {
      cause: error,
    });
  }

  #unavailable(error: unknown): StoreUnavailable {
    const gone = this.#gone();
    const reason = this.#closed ? 'it was closed' : this.#reasonOf(gone ?? error);
    return new StoreUnavailable(`the store is unavailable (${this.place}): ${reason}`, {
      cause: gone ?? error,
      closed: this.#closed,
    });
  }

  #reasonOf(error: unknown): string {
    const { connectionTimeoutMillis, query_timeout } = this.#pool.options;
    if (isTimeout(error)) return `no answer within ${query_timeout} ms`;
    if (error instanceof Error && error.message === POOL_TIMEOUT) {
      return `no connection within ${connectionTimeoutMillis} ms: all are in use, or the server doesn't answer`;
    }
    return this.#meaning(error) ?? reasonOf(error);
  }
}

/** `holdfast_1a2b`, `holdfast_1a2b_2`, `holdfast_1a2b_3`. */
function nextName(name: string): string {
  const [prefix, digest, count = '1'] = name.split('_');
  return `${prefix}_${digest}_${Number(count) + 1}`;
}

/** Why a connection failed, in a few words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  const message = error.message || code || error.name;
  return code === DISK_FULL ? `the disk is full: ${message}` : message;
}

/** Host, port and database that connections are made to. */
export function placeOf(config: pg.ClientConfig): string {
  const { host, port, database } = new pg.Client(config);
  return `PostgreSQL at ${host}:${port}, database ${database}`;
}

function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === QUERY_TIMEOUT;
}

/** An error of the connection rather than of this program. */
function isOperational(error: unknown): boolean {
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}
