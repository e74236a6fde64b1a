import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that the server was asked, with the session that it named. */
export interface TaskRequest {
  method: string;
  params: Record<string, unknown>;
  session: string | undefined;
}

type Standing = Record<string, unknown> | Error;

export interface TaskServer extends AsyncDisposable {
  url: string;
  /** Requests, in order. */
  asked: TaskRequest[];
  of(method: string): TaskRequest[];
  /** How its task stands: the answer of the next `tasks/get`, or what makes it. An error is one of JSON-RPC. */
  task: Standing | (() => Standing);
  /** The answer of `tasks/result`, of 2025-11-25. */
  result: Record<string, unknown>;
  /** The effects of its only tool. */
  effects: number;
  /** Whether it refuses answers to the questions of a task that has ended. */
  refusesLate: boolean;
  /** Its answer to a call, if not a task. */
  answersCall: Record<string, unknown> | undefined;
  /** Its answer to a call waits for this, after the effect. */
  holdsCall: Promise<unknown> | undefined;
}

const TOOLS = [
  {
    name: 'render',
    description: 'Renders a film.',
    inputSchema: { type: 'object', properties: { film: { type: 'string' } } },
    execution: { taskSupport: 'optional' },
  },
];
const EXTENSION = 'io.modelcontextprotocol/tasks';
const LISTED = { tools: TOOLS, ttlMs: 60_000, cacheScope: 'private' };

/** A server whose calls are tasks, written by hand: it can say anything of them. */
export async function startTaskServer(revision: '2025-11-25' | '2026-07-28'): Promise<TaskServer> {
  const isModern = revision === '2026-07-28';
  const state = {
    task: { status: 'working' } as TaskServer['task'],
    result: { content: [{ type: 'text', text: 'rendered' }] } as Record<string, unknown>,
    answersCall: undefined as Record<string, unknown> | undefined,
    holdsCall: undefined as Promise<unknown> | undefined,
    effects: 0,
    refusesLate: false,
    asked: [] as TaskRequest[],
  };
  const standing = () => {
    const task = typeof state.task === 'function' ? state.task() : state.task;
    if (task instanceof Error) throw task;
    return {
      ...{ taskId: 'task-1', createdAt: '2026-11-01T10:00:00Z', lastUpdatedAt: '2026-11-01T10:00:00Z' },
      ...(isModern ? { ttlMs: null, pollIntervalMs: 1 } : { ttl: 60_000, pollInterval: 1 }),
      ...task,
    };
  };
  const complete = (result: object) => (isModern ? { ...result, resultType: 'complete' } : result);
  const capabilities = isModern
    ? { tools: {}, extensions: { [EXTENSION]: {} } }
    : { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
  const answers: Record<string, () => object | undefined> = {
    'server/discover': () =>
      isModern
        ? complete({
            ...{ supportedVersions: [revision], capabilities, ttlMs: 60_000, cacheScope: 'private' },
            serverInfo: { name: 'farm', version: '1' },
          })
        : undefined,
    initialize: () =>
      isModern
        ? undefined
        : { protocolVersion: revision, capabilities, serverInfo: { name: 'farm', version: '1' } },
    'tools/list': () => complete(LISTED),
    'tools/call': () => {
      state.effects += 1;
      if (state.answersCall !== undefined) return state.answersCall;
      const { taskId, ...more } = standing();
      const created = { taskId, ...more, status: 'working', inputRequests: undefined, result: undefined };
      return isModern ? { ...created, resultType: 'task' } : { task: created };
    },
    'tasks/get': () => complete(standing()),
    'tasks/result': () => (isModern ? undefined : state.result),
    'tasks/update': () => {
      const { status }: Record<string, unknown> = state.refusesLate ? standing() : {};
      if (status === 'completed') throw new Error('the task is over');
      return isModern ? complete({}) : undefined;
    },
    'tasks/cancel': () => complete(isModern ? {} : { ...standing(), status: 'cancelled' }),
  };
  let sessions = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
    const session = request.headers['mcp-session-id']?.toString();
    if (request.method === 'DELETE') {
      state.asked.push({ method: 'DELETE', params: {}, session });
      return void response.writeHead(200).end();
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(await text(request)) as { id?: unknown; method: string; params?: object };
    state.asked.push({ method: message.method, params: { ...message.params }, session });
    if (message.id === undefined) return void response.writeHead(202).end();
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (message.method === 'initialize' && !isModern) {
      sessions += 1;
      headers['mcp-session-id'] = `s${sessions}`;
    }
    response.writeHead(200, headers);
    let said: object;
    try {
      const result = answers[message.method]?.();
      said = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
    } catch (error) {
      said = { error: { code: -32_602, message: (error as Error).message } };
    }
    if (message.method === 'tools/call') await state.holdsCall;
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    of: (method: string) => state.asked.filter((each) => each.method === method),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}
