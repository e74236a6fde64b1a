import type {
  Client,
  ElicitResult,
  JsonSchemaValidator,
  Tool,
  Transport,
} from '@modelcontextprotocol/client';
import { ownVersion } from '../../own-files.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { CheckedLists, KeptList } from './checked-list.ts';
import {
  type MCPConnectionParams,
  type OpenMcpConnection,
  shownServer,
  timeoutOf,
} from './connection-params.ts';
import {
  goesBack,
  IDEMPOTENCY_KEY,
  type McpAnswer,
  type McpReplies,
  type McpSession,
  type McpTaskReference,
} from './mcp-answer.ts';
import { type AskedByServer, CallsUnderWay } from './mcp-elicitations.ts';
import { isGone, McpRefused, serverFailed, taskFailed, unanswered } from './mcp-errors.ts';
import { askedByError } from './mcp-questions.ts';
import { removeSecrets, secretsOf, tellsSecret } from './mcp-secrets.ts';
import { begunTask, type McpTask, TASKS_EXTENSION, taskOf, withTaskInMeta } from './mcp-task.ts';
import { isSession, loadMcpClient, transportOf } from './mcp-transport.ts';

/** Milliseconds for which a list counts where the server tells of changes, and where it doesn't. */
const LIST_LASTS = { told: 600_000, untold: 60_000 };
/** Milliseconds to take leave of a server. */
const LEAVE_TIME = 2_000;

/** A tool as its server describes it. Fields: `Tool` of MCP 2026-07-28. */
export interface McpToolDefinition {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema: object;
  outputSchema?: object | undefined;
  /** Hints of the server about itself. Nobody has checked them. */
  annotations?:
    | {
        readOnlyHint?: boolean | undefined;
        destructiveHint?: boolean | undefined;
        idempotentHint?: boolean | undefined;
      }
    | undefined;
  /** Whether a call of a tool of 2025-11-25 may be a task. */
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' | undefined } | undefined;
}

/** A resource as its server lists it. Fields: `Resource` of MCP 2026-07-28. */
export interface McpResource {
  uri: string;
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  mimeType?: string | undefined;
  size?: number | undefined;
}

/** A piece of a resource: text, or bytes in base64. Fields: `ResourceContents` of MCP 2026-07-28. */
export type McpResourceContents = { uri: string; mimeType?: string | undefined } & (
  | { text: string }
  | { blob: string }
);

/** A call of a server's tool. */
export interface McpCall extends AskedByServer {
  tool: McpToolDefinition;
  args: Record<string, unknown>;
  /** Answers to the server's questions, and its own state, in a call that goes on. */
  answers?: McpReplies;
  /** For servers that take one, in `_meta`. */
  idempotencyKey: string | undefined;
  /** A second run would do no more than the first one. */
  isIdempotent: boolean;
  /** Milliseconds for which a server of 2025 is to keep the call's task, if it makes one. */
  ttl: number;
  signal: AbortSignal;
  /** Milliseconds. */
  timeout: number;
  onProgress: (progress: McpProgress) => void;
}

export interface McpProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** A connection to a server for one principal. */
export class MCPConnection {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #open: OpenMcpConnection;
  readonly #lists: CheckedLists;
  readonly #kept: KeptLists;
  readonly #calls = new CallsUnderWay();
  /** Tasks live in the session: it is not to be ended. */
  #hasTasks = false;

  private constructor(client: Client, transport: Transport, open: OpenMcpConnection, kept: KeptLists) {
    this.#client = client;
    this.#transport = transport;
    this.#open = open;
    this.#kept = kept;
    this.#lists = new CheckedLists(shownServer(open.params), open.maxResponseBytes);
    client.onclose = open.onClosed;
  }

  /** @throws McpUnavailable */
  static async open(open: OpenMcpConnection): Promise<MCPConnection> {
    const { params, isLegacy } = open;
    const { Client } = await loadMcpClient();
    const kept: KeptLists = { tools: new KeptList('tools'), resources: new KeptList('resources') };
    const changes = (what: keyof KeptLists) => ({
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => kept[what].forget(),
    });
    const client = new Client(
      { name: 'holdfast', version: ownVersion() },
      {
        capabilities: { elicitation: { form: {}, url: {} }, ...(isShared(params) ? TASKS : {}) },
        versionNegotiation: { mode: 'auto' },
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: UNCHECKED,
        listChanged: { tools: changes('tools'), resources: changes('resources') },
      },
    );
    const { transport, said } = await transportOf(open);
    const connection = new MCPConnection(client, transport, open, kept);
    // Servers of 2025 ask on the open connection.
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }, { mcpReq }) =>
        (await connection.#calls.asked({ ...params }, mcpReq.signal)) as ElicitResult,
    );
    const timeout = timeoutOf(params);
    const late = AbortSignal.timeout(timeout);
    try {
      await client.connect(transport, {
        timeout,
        signal: AbortSignal.any([open.signal, late]),
        ...(isLegacy ? { prior: { kind: 'legacy' as const } } : {}),
      });
    } catch (thrown) {
      const error = late.aborted ? unanswered(params) : thrown;
      await connection.close();
      throw serverFailed(params, error, { isSent: false, headers: open.headers(), said: said() });
    }
    const { onmessage } = transport;
    const checked = await connection.#lists.checker();
    const removed = {
      fromAnswers: open.secrets,
      fromErrors: () => [...secretsOf(params, open.headers()), ...open.secrets()],
    };
    transport.onmessage = (message, extra) => {
      removeSecrets(message, removed);
      onmessage?.(checked(withTaskInMeta(message), connection.isLegacy), extra);
    };
    return connection;
  }

  /** Whether the server speaks a revision of 2025. */
  get isLegacy(): boolean {
    return this.#open.session !== undefined || this.#client.getProtocolEra() === 'legacy';
  }

  /** @throws McpUnavailable, McpRefused */
  async tools(): Promise<readonly McpToolDefinition[]> {
    const ask = async (options: ListOptions) => (await this.#client.listTools({}, options)).tools;
    return await this.#listed(this.#kept.tools, ask);
  }

  /** @throws McpUnavailable, McpRefused */
  async resources(): Promise<readonly McpResource[]> {
    const ask = async (options: ListOptions) => (await this.#client.listResources({}, options)).resources;
    return await this.#listed(this.#kept.resources, ask);
  }

  /** @throws McpUnavailable, McpRefused */
  async readResource(uri: string): Promise<readonly McpResourceContents[]> {
    const options = { timeout: timeoutOf(this.#open.params) };
    try {
      return (await this.#client.readResource({ uri }, options)).contents;
    } catch (error) {
      throw this.#failed(error, false);
    }
  }

  /**
   * Calls a tool once. Where the server asks something first, the questions are the result; where it goes on by itself, its task.
   *
   * @throws McpUnavailable, McpRefused
   */
  async call(call: McpCall): Promise<McpAnswer> {
    const { tool, args, answers, idempotencyKey, isIdempotent, signal, timeout, onProgress, ttl } = call;
    const meta = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_KEY]: idempotencyKey } };
    const task = this.#asksForTask(tool) ? { task: { ttl } } : {};
    const params = { name: tool.name, arguments: args, ...answers, ...task, ...meta };
    let answer: McpAnswer;
    try {
      answer = await this.#calls.run(call, () =>
        this.#client.callTool(params as Parameters<Client['callTool']>[0], {
          allowInputRequired: true,
          toolDefinition: tool as Tool,
          signal,
          timeout,
          onprogress: onProgress,
        }),
      );
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const asked = askedByError(error);
      if (asked === undefined) throw this.#failed(error, !isIdempotent);
      return asked;
    }
    const begun = begunTask(answer);
    if (begun === undefined) {
      this.#assertRecordable(goesBack(answer));
      return answer;
    }
    this.#hasTasks = true;
    const session = this.#session();
    const reference = { resultType: 'task' as const, taskId: begun.taskId, ...defined({ session }) };
    this.#assertRecordable(reference);
    return { task: reference };
  }

  /** @throws McpRefused for what has a secret, and would have to go back as it is. */
  #assertRecordable(fields: object): void {
    const told = Object.entries(fields).flatMap(([name, value]) =>
      tellsSecret(value, this.#open.secrets()) ? [name] : [],
    );
    if (told.length === 0) return;
    throw new McpRefused(
      `the MCP server ${shownServer(this.#open.params)} puts a secret of its connection into ${told.join(' and ')}, which would have to be recorded: the answer is not used, and the call may have run`,
    );
  }

  /**
   * Asks how far a task is. One of 2025 that has completed has its result beside it.
   *
   * @throws McpUnavailable
   * @throws McpRefused where the server doesn't have the task any more.
   */
  async task({ taskId }: McpTaskReference): Promise<McpTask> {
    const task = taskOf(await this.#ofTask('tasks/get', { taskId }));
    if (task.taskId !== taskId)
      throw new McpRefused('the MCP server tells of another task than it was asked for');
    this.#assertRecordable(goesBack(task));
    if (!this.isLegacy || task.status === 'working' || task.status === 'cancelled') return task;
    if (task.status === 'failed') return { ...task, ...defined({ error: task.error ?? task.message }) };
    // It asks once it is asked for the result: its questions are declined there.
    const result = (await this.#ofTask('tasks/result', { taskId })) as McpAnswer;
    return { ...task, status: 'completed', result };
  }

  /** Answers the questions of a task. @throws McpUnavailable, McpRefused */
  async updateTask({ taskId }: McpTaskReference, inputResponses: object): Promise<void> {
    await this.#ofTask('tasks/update', { taskId, inputResponses });
  }

  /** @throws McpUnavailable, McpRefused */
  async cancelTask({ taskId }: McpTaskReference): Promise<void> {
    await this.#ofTask('tasks/cancel', { taskId });
  }

  async #ofTask(method: string, params: Record<string, unknown>): Promise<unknown> {
    this.#hasTasks = true;
    const { params: connection } = this.#open;
    try {
      return await this.#client.request({ method, params }, ANYTHING, { timeout: timeoutOf(connection) });
    } catch (error) {
      if (isGone(error)) this.#open.onClosed();
      throw taskFailed(connection, error, { headers: this.#open.headers(), hasSession: this.isLegacy });
    }
  }

  /** A server of 2026 decides it by itself. */
  #asksForTask({ execution }: McpToolDefinition): boolean {
    if (!this.isLegacy) return false;
    const { tasks } = (this.#client.getServerCapabilities() ?? {}) as { tasks?: unknown };
    const requests = isRecord(tasks) ? tasks.requests : undefined;
    const tools = isRecord(requests) ? requests.tools : undefined;
    if (!isRecord(tools) || !isRecord(tools.call)) return false;
    return isShared(this.#open.params) && ['required', 'optional'].includes(execution?.taskSupport ?? '');
  }

  #session(): McpSession | undefined {
    if (!this.isLegacy || !isSession(this.#transport)) return undefined;
    const { sessionId: id = '', protocolVersion } = this.#transport;
    return { id, ...defined({ protocolVersion }) };
  }

  /** Ends the connection, and the server's process with it. */
  async close(): Promise<void> {
    const { params } = this.#open;
    this.#client.onclose = undefined as never;
    await this.#calls.close();
    const isLeft = params.type === 'StreamableHTTPConnectionParams' && params.terminateOnClose === false;
    const keeps = isLeft || this.#hasTasks || this.#open.session !== undefined;
    try {
      if (!keeps && isSession(this.#transport)) await inTime(this.#transport.terminateSession());
    } catch {
      // It may be gone already.
    }
    try {
      await this.#client.close();
      await this.#transport.close();
    } catch {
      // The server's process, or the connection, has ended before.
    }
    this.#open.onClosed();
  }

  async #listed<T>(
    list: KeptList<T>,
    ask: (options: ListOptions) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const isTold = this.#client.getServerCapabilities()?.[list.kind]?.listChanged === true;
    return await list.items(isTold ? LIST_LASTS.told : LIST_LASTS.untold, async () => {
      const { params } = this.#open;
      const timeout = timeoutOf(params);
      // The time is for all pages.
      const late = AbortSignal.timeout(timeout);
      this.#lists.begin(list.kind);
      try {
        return await ask({ timeout, signal: late, cacheMode: 'refresh' });
      } catch (error) {
        throw this.#failed(late.aborted ? unanswered(params) : error, false);
      }
    });
  }

  #failed(error: unknown, isSent: boolean): Error {
    if (isGone(error)) this.#open.onClosed();
    const hasSession = isSession(this.#transport);
    return serverFailed(this.#open.params, error, { isSent, headers: this.#open.headers(), hasSession });
  }
}

interface KeptLists {
  tools: KeptList<McpToolDefinition>;
  resources: KeptList<McpResource>;
}

type ListOptions = { timeout: number; signal: AbortSignal; cacheMode: 'refresh' };

/** Schemas of a server may hold patterns that take for ever: results are checked by the tool itself. */
const UNCHECKED = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

const TASKS = { extensions: { [TASKS_EXTENSION]: {} } };

/** Whether all workers speak to the same server. A task in a worker's own program ends with it, and no other worker finds it. */
function isShared({ type }: MCPConnectionParams): boolean {
  return type !== 'StdioConnectionParams';
}

/** Results of tasks are read by `taskOf`. */
const ANYTHING = {
  '~standard': { version: 1, vendor: 'holdfast', validate: (value: unknown) => ({ value }) },
} as const;

async function inTime(work: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(LEAVE_TIME);
  const { promise, resolve } = Promise.withResolvers<void>();
  late.addEventListener('abort', () => resolve());
  await Promise.race([work.catch(() => undefined), promise]);
}
