import { AsyncLocalStorage } from 'node:async_hooks';
import { shortDigest } from '../../protocol/identity.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import { kindOf } from '../../schema/kind-of.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import {
  checkedConnectionParams,
  type MCPConnectionParams,
  mergedHeaders,
  type OpenMcpConnection,
} from './connection-params.ts';
import type { McpSession } from './mcp-answer.ts';
import { MCPConnection } from './mcp-connection.ts';
import { McpUnavailable, serverFailed } from './mcp-errors.ts';
import { secretsOfAnswers } from './mcp-secrets.ts';

/** Headers for a server, by the context that asks. Absent: outside of an invocation. */
export type McpHeaderProvider = (
  context?: ReadonlyContext,
) => Record<string, string> | Promise<Record<string, string>>;

/** Options of {@link MCPSessionManager}: its principals, their headers, and limits. */
export interface MCPSessionOptions {
  /**
   * Names whose connection a context uses, by a text of 1 to 1,000 characters. No two principals ever share one: sessions of servers
   * keep what their caller did.
   *
   * @default the app and the user
   * @example principal: () => 'everybody' // a server that keeps nothing
   */
  principal?: (context?: ReadonlyContext) => string;
  /**
   * Headers of each request, beside those of the connection params: tokens, for one. No history and no log has them; where the server
   * itself tells one, its name has to be one of secrets, like `authorization` or `x-api-key`.
   */
  headers?: McpHeaderProvider;
  /**
   * Connections that a worker holds, at most. The one that was idle for longest makes room.
   *
   * @default 100
   */
  maxConnections?: number;
  /**
   * Milliseconds after which an idle connection is closed.
   *
   * @default 300_000
   */
  idleTimeout?: number;
  /**
   * Milliseconds for which a question of a server of 2025 is held open for a person. The call's activity waits meanwhile, in a slot of
   * its worker. Then, or with 0 at once, the question is declined. Never longer than nine tenths of what is left of the tool's `timeout`.
   * Servers of 2026 need no open connection: their questions wait for days.
   *
   * @default 120_000
   */
  elicitationTimeout?: number;
  /**
   * Bytes of one answer over HTTP, at most.
   *
   * @default 16 MiB
   */
  maxResponseBytes?: number;
}

/** Beside the principal, by which a connection is found. */
export interface McpUse {
  credential?: Readonly<Record<string, string>>;
  session?: McpSession | undefined;
}

/** A piece of work on a connection. */
interface Work {
  headers: Readonly<Record<string, string>>;
  /** What no answer to it may tell. */
  secrets: readonly string[];
}

/** A connection of a pool, and who uses it. */
interface Pooled {
  opening: Promise<MCPConnection>;
  abortOpening: AbortController;
  /** The newest user, whose headers requests have that belong to no work: a token may have been renewed. */
  newest: Work;
  users: Set<Work>;
  /** Those of all its work, until its users change. */
  secrets?: readonly string[] | undefined;
  idleSince: number;
  timer?: NodeJS.Timeout;
}

/** Characters of a principal. */
const LONGEST_PRINCIPAL = 1_000;
/** Milliseconds until a server that speaks a revision of 2025 is asked for newer ones again: it may be upgraded. */
const LEGACY_LASTS = 600_000;

/**
 * The connections of a worker to one server, one for each principal: made when needed, kept while used, made anew after the server was
 * away. Name: `MCPSessionManager` of `@google/adk` 2.0.0, which starts a process for each call.
 */
export class MCPSessionManager {
  readonly params: MCPConnectionParams;
  readonly #options: MCPSessionOptions;
  readonly #pool = new Map<string, Pooled>();
  /** The work that asks: work of several users may be done on one connection at once. */
  readonly #work = new AsyncLocalStorage<Work>();
  /** Milliseconds since the epoch. */
  #legacyUntil = 0;
  #closings = 0;

  /** @throws DefinitionError naming the field, or the package to install. */
  constructor(connectionParams: MCPConnectionParams, options: MCPSessionOptions = {}) {
    assertInstalled('MCPSessionManager', '@modelcontextprotocol/client');
    this.params = checkedConnectionParams('MCPSessionManager', connectionParams);
    this.#options = options;
  }

  /** Connections that are open, or about to be. */
  get size(): number {
    return this.#pool.size;
  }

  get elicitationTimeout(): number {
    return this.#options.elicitationTimeout ?? 120_000;
  }

  /** Whose connection a context uses. @throws DefinitionError for a `principal` that names nobody. */
  principalOf(context: ReadonlyContext | undefined): string {
    const { principal } = this.#options;
    if (principal === undefined)
      return context === undefined ? '' : JSON.stringify([context.appName, context.userId]);
    const given: unknown = principal(context);
    if (typeof given === 'string' && given !== '' && given.length <= LONGEST_PRINCIPAL) return given;
    const got = typeof given === 'string' ? `one of ${given.length} characters` : kindOf(given);
    // Users for whom it names nobody would share one connection.
    throw new DefinitionError({
      owner: 'MCPSessionManager',
      field: 'options.principal',
      problem: `its result: expected text of 1 to ${LONGEST_PRINCIPAL} characters, got ${got}: name whose connection each context uses`,
    });
  }

  /**
   * Does work on the connection of the context's principal. A connection that the server has dropped is made anew, and the work is
   * done again, where nothing can have come of it.
   *
   * @param beside `credential`: headers of the credential that the call has. `session`: one of a server of 2025 that is to go on.
   * @throws McpUnavailable, McpRefused, and what the work throws; DefinitionError for a `principal` that names nobody.
   */
  async use<T>(
    context: ReadonlyContext | undefined,
    work: (connection: MCPConnection) => Promise<T>,
    { credential = {}, session }: McpUse = {},
  ): Promise<T> {
    const headers = mergedHeaders(await this.#options.headers?.(context), credential);
    const key = shortDigest(JSON.stringify([this.principalOf(context), credential, session?.id]));
    const asking = { headers, secrets: secretsOfAnswers(this.params, headers, credential) };
    return await this.#work.run(asking, () => this.#used(key, work, { asking, session }));
  }

  async #used<T>(
    key: string,
    work: (connection: MCPConnection) => Promise<T>,
    { asking, session }: Pick<McpUse, 'session'> & { asking: Work },
  ): Promise<T> {
    const closings = this.#closings;
    for (let attempt = 1; ; attempt += 1) {
      const pooled = this.#pooled(key, asking, session);
      try {
        const connection = await pooled.opening;
        try {
          return await work(connection);
        } catch (error) {
          const isOver = this.#pool.get(key) !== pooled;
          const mayRepeat = error instanceof McpUnavailable && !error.maybeDone;
          if (attempt > 1 || !isOver || !mayRepeat || this.#closings !== closings) throw error;
        }
      } finally {
        this.#leave(key, pooled, asking);
      }
    }
  }

  /** Ends all connections, and with them the processes of their servers. Work that is under way fails. Later uses make new ones. */
  async close(): Promise<void> {
    this.#closings += 1;
    const all = [...this.#pool.values()];
    this.#pool.clear();
    await Promise.all(all.map(closed));
  }

  #pooled(key: string, asking: Work, session: McpSession | undefined): Pooled {
    const known = this.#pool.get(key);
    if (known !== undefined) {
      clearTimeout(known.timer);
      known.users.add(asking);
      known.newest = asking;
      known.secrets = undefined;
      return known;
    }
    this.#makeRoom();
    const abortOpening = new AbortController();
    const pooled: Pooled = {
      ...{ opening: Promise.reject(), abortOpening, idleSince: 0 },
      ...{ newest: asking, users: new Set([asking]) },
    };
    pooled.opening.catch(() => undefined);
    const forget = () => {
      if (this.#pool.get(key) === pooled) this.#pool.delete(key);
    };
    // What the server says by itself comes in the context of the opening, and so do answers to its questions.
    pooled.opening = this.#work.exit(() => this.#opened(pooled, { onClosed: forget, session }));
    this.#pool.set(key, pooled);
    pooled.opening.catch(forget);
    return pooled;
  }

  async #opened(
    pooled: Pooled,
    { onClosed, session }: Pick<OpenMcpConnection, 'onClosed' | 'session'>,
  ): Promise<MCPConnection> {
    const { maxResponseBytes = 16 * 1024 * 1024 } = this.#options;
    const connection = await MCPConnection.open({
      params: this.params,
      maxResponseBytes,
      headers: () => (this.#work.getStore() ?? pooled.newest).headers,
      secrets: () => {
        pooled.secrets ??= [pooled.newest, ...pooled.users].flatMap(({ secrets }) => secrets);
        return this.#work.getStore()?.secrets ?? pooled.secrets;
      },
      isLegacy: session !== undefined || this.#legacyUntil > Date.now(),
      session,
      signal: pooled.abortOpening.signal,
      onClosed,
    });
    if (connection.isLegacy && this.#legacyUntil < Date.now()) this.#legacyUntil = Date.now() + LEGACY_LASTS;
    return connection;
  }

  #leave(key: string, pooled: Pooled, asking: Work): void {
    pooled.users.delete(asking);
    pooled.secrets = undefined;
    if (pooled.users.size > 0) return;
    if (this.#pool.get(key) !== pooled) {
      void closed(pooled);
      return;
    }
    const { idleTimeout = 300_000 } = this.#options;
    pooled.idleSince = Date.now();
    pooled.timer = setTimeout(() => {
      if (pooled.users.size > 0 || this.#pool.get(key) !== pooled) return;
      this.#pool.delete(key);
      void closed(pooled);
    }, idleTimeout);
    pooled.timer.unref();
  }

  /** @throws McpUnavailable where all connections are in use. */
  #makeRoom(): void {
    const { maxConnections = 100 } = this.#options;
    if (this.#pool.size < maxConnections) return;
    const [oldest] = [...this.#pool]
      .filter(([, { users }]) => users.size === 0)
      .sort(([, one], [, other]) => one.idleSince - other.idleSince);
    if (oldest === undefined) {
      const problem = `all ${maxConnections} connections of this worker are in use (maxConnections)`;
      throw serverFailed(this.params, new Error(problem), { isSent: false });
    }
    const [key, pooled] = oldest;
    this.#pool.delete(key);
    clearTimeout(pooled.timer);
    void closed(pooled);
  }
}

/** No error: a connection that was never made needs no end. */
async function closed({ opening, abortOpening, timer }: Pooled): Promise<void> {
  clearTimeout(timer);
  abortOpening.abort(new Error('its toolset was closed'));
  const connection = await opening.catch(() => undefined);
  await connection?.close();
}
