import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { getLogger, setLogger } from '../../src/logger.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import type { Context } from '../../src/tools/context.ts';
import { LoadMcpResourceTool } from '../../src/tools/mcp/load-mcp-resource-tool.ts';
import { MCPToolset, type MCPToolsetOptions } from '../../src/tools/mcp/mcp-toolset.ts';
import { ResponseWithMedia } from '../../src/tools/media.ts';
import { callOf, contextWith, emptyRequest } from '../definitions/tool-context.ts';
import { textOf } from '../setup/history-facts.ts';
import { leaksIn } from '../setup/planted-secrets.ts';
import { until } from '../setup/until.ts';
import { type RawAnswer, startRawServer, stdioProgram } from './raw-server.ts';
import { startTaskServer, type TaskServer } from './task-server.ts';

const token = randomBytes(9).toString('hex');
const headers = () => ({ authorization: `Bearer ${token}` });
const plain = { type: 'object', properties: {} };
const tools = [{ name: 'tell', description: 'Tells.', inputSchema: plain }];

/** Where any of the values has the token, in plain or in base64. */
const leaks = (...values: unknown[]) =>
  leaksIn({ token }, { values: Buffer.from(values.map((value) => JSON.stringify(value)).join('\n')) });
const CLEAN: string[] = [];

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

async function open(answers: Record<string, RawAnswer>, options: MCPToolsetOptions = { headers }) {
  const server = await startRawServer({ 'tools/list': { tools }, ...answers });
  opened.push(server);
  const params = { type: 'StreamableHTTPConnectionParams', url: server.url } as const;
  const toolset = new MCPToolset(params, [], undefined, options);
  opened.push({ [Symbol.asyncDispose]: () => toolset.close() });
  return toolset;
}

async function called(toolset: MCPToolset, toolContext: Context = contextWith(), more: object = {}) {
  const [tell] = await toolset.getTools(toolContext);
  return await tell?.runAsync({ args: {}, toolContext, ...more });
}

/** Its tool tells the variables and arguments that it was started with. */
const TELLING_PROGRAM = stdioProgram(`
  'tools/list': (say) => say({ result: { tools: ${JSON.stringify(tools)} } }),
  'tools/call': (say) =>
    say({ result: { content: [], structuredContent: { env: process.env, args: process.argv.slice(1) } } }),
`);

const base64 = (said: string | Buffer) => Buffer.from(said).toString('base64');
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const said = (message: object) =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

describe('a secret of a connection that its server tells is not taken in', () => {
  test('from an answer: text, structured content, resources [mcp.secrets]', async () => {
    const content = [
      { type: 'text', text: `your token is ${token}, or Bearer%20${token}` },
      { type: 'resource', resource: { uri: `memo://${token}`, text: `it is ${token}` } },
      { type: 'resource_link', uri: `memo://${token}`, name: token, description: token },
      { type: 'image', mimeType: 'image/png', data: base64(PNG) },
    ];
    const told = await called(await open({ 'tools/call': { content } }));
    expect(told).toBeInstanceOf(ResponseWithMedia);
    const { response, media } = told as ResponseWithMedia;
    expect(response).toMatchObject({ output: expect.stringContaining('your token is [removed], or') });
    expect(media.map((each) => Buffer.from(each.data as Uint8Array))).toEqual([PNG]);
    expect(leaks(response)).toEqual(CLEAN);

    const structuredContent = { auth: { [token]: [`Bearer ${token}`] } };
    const structured = await called(await open({ 'tools/call': { content: [], structuredContent } }));
    expect(structured).toEqual({ output: { auth: { '[removed]': ['[removed]'] } } });
  });

  test('as it is, as JSON writes it, and as a component of an address [mcp.secrets]', async () => {
    const key = `${token}/"+ü&`;
    const forms = [key, JSON.stringify(key), encodeURIComponent(key)];
    const content = forms.map((form) => ({ type: 'text', text: `<${form}>` }));
    const toolset = await open({ 'tools/call': { content } }, { headers: () => ({ 'x-api-key': key }) });
    const told = JSON.stringify(await called(toolset));
    expect(told.match(/\[removed\]/g)).toHaveLength(3);
    expect(leaks(told)).toEqual(CLEAN);
  });

  test('from an answer of a program, whose folders and sites can still be read [mcp.secrets]', async () => {
    const toolset = new MCPToolset({
      type: 'StdioConnectionParams',
      serverParams: {
        command: process.execPath,
        args: [
          ...['-e', TELLING_PROGRAM, '--', '/srv/docs', '--api-key', `${token}=`, '/srv/mails'],
          ...[`--desk-token=${token}`, '/srv/notes'],
        ],
        env: { DESK_TOKEN: `Bearer ${token}`, FOLDER: '/srv/docs', REGION: 'us-east-1' },
      },
    });
    opened.push({ [Symbol.asyncDispose]: () => toolset.close() });
    const told = await called(toolset);
    expect(told).toMatchObject({
      output: {
        env: { DESK_TOKEN: '[removed]', FOLDER: '/srv/docs', REGION: 'us-east-1' },
        args: [
          ...['/srv/docs', '--api-key', '[removed]', '/srv/mails'],
          ...['--desk-token=[removed]', '/srv/notes'],
        ],
      },
    });
    expect(leaks(told)).toEqual(CLEAN);
  });

  test('and nothing else is taken out: names of users, short values, fields of MCP, ids [mcp.secrets]', async () => {
    const toolset = await open(
      {
        'tools/list': { tools: [{ ...tools[0], name: 'content_find' }] },
        'tools/call': { content: [{ type: 'text', text: '{"content":"ok","is":true}, tested' }] },
      },
      {
        headers: () => ({
          authorization: `Basic ${base64(`content:${token}`)}`,
          'x-session-affinity': 'true',
          'x-api-key': 'test',
          cookie: `session=${token}; theme=dark`,
        }),
      },
    );
    expect(await called(toolset)).toEqual({ output: '{"content":"ok","is":true}, tested' });
    expect((await toolset.getTools()).map(({ name }) => name)).toEqual(['content_find']);
  });

  test('while a page that it wants opened stays as it is [mcp.secrets]', async () => {
    const url = 'https://desk.example/connect/1';
    const program = stdioProgram(`
      'tools/list': (say) => say({ result: { tools: ${JSON.stringify(tools)} } }),
      'tools/call': (say) => {
        const elicitations = [{ mode: 'url', message: 'Log in.', url: '${url}', elicitationId: '1' }];
        say({ error: { code: -32042, message: 'log in first', data: { elicitations } } });
      },
    `);
    const toolset = new MCPToolset({
      type: 'StdioConnectionParams',
      serverParams: {
        command: process.execPath,
        args: ['-e', program],
        env: { DESK_URL: 'https://desk.example' },
      },
    });
    opened.push({ [Symbol.asyncDispose]: () => toolset.close() });
    const asked: unknown[] = [];
    const requestInput = async (question: unknown) => {
      asked.push(question);
      throw new Error('asked');
    };
    await expect(called(toolset, Object.assign(contextWith(), { requestInput }))).rejects.toThrow('asked');
    expect(asked).toMatchObject([{ payload: { url } }]);
  });

  test('from what would have to be recorded and go back: the call fails [mcp.secrets]', async () => {
    const form = { method: 'elicitation/create', params: { message: 'Which?', requestedSchema: plain } };
    for (const [what, answer] of [
      ['inputRequests', { resultType: 'input_required', inputRequests: { [token]: form } }],
      ['requestState', { resultType: 'input_required', requestState: `{"for":"${token}"}.sig` }],
      ['taskId', { resultType: 'task', taskId: `${token}-7`, status: 'working' }],
    ] as const) {
      await using farm = await startTaskServer('2026-07-28');
      farm.answersCall = answer;
      const toolset = new MCPToolset(
        { type: 'StreamableHTTPConnectionParams', url: farm.url },
        [],
        undefined,
        { headers },
      );
      opened.push({ [Symbol.asyncDispose]: () => toolset.close() });
      const error = await called(toolset).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ message: expect.stringMatching(new RegExp(`secret .* into .*${what}`)) });
      expect(leaks((error as Error).message)).toEqual(CLEAN);
    }
  });

  test('from an answer that is nested deeper than a stack is [mcp.secrets]', async () => {
    const depth = 30_000;
    const nested = `${'{"result":'.repeat(depth)}"${token}"${'}'.repeat(depth)}`;
    const toolset = await open({
      'tools/call': (response, id) => {
        const result = `{"content":[{"type":"text","text":"it is ${token}"}],"result":${nested}}`;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
      },
    });
    expect(await called(toolset)).toEqual({ output: 'it is [removed]' });
  });

  test('from an answer to a call with a credential, whatever its header is called [mcp.secrets]', async () => {
    const authScheme = { type: 'apiKey', name: 'X-Desk', in: 'header' } as const;
    const authConfig = { credentialKey: 'desk', authScheme };
    const toolset = await open(
      {
        'tools/call': (response, id) => {
          const content = [{ type: 'text', text: `you are ${response.req.headers['x-desk']}` }];
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content } }));
        },
      },
      { defaults: { authConfig } },
    );
    const toolContext = Object.defineProperty(contextWith(), 'authCredential', {
      value: { authType: 'apiKey', apiKey: token },
    });
    expect(await called(toolset, toolContext)).toEqual({ output: 'you are [removed]' });
  });

  test('from progress [mcp.secrets]', async () => {
    const toolset = await open({
      'tools/call': (response, id) => {
        const params = { progressToken: id, progress: 1, message: `logged in as ${token}` };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(said({ method: 'notifications/progress', params }));
        response.end(said({ id, result: { content: [{ type: 'text', text: 'done' }] } }));
      },
    });
    const beats: unknown[] = [];
    const chunks: unknown[] = [];
    const toolContext = contextWith({ call: callOf({ heartbeat: (details) => void beats.push(details) }) });
    await called(toolset, toolContext, { onChunk: (chunk: unknown) => void chunks.push(chunk) });
    expect(beats).toEqual([{ progress: 1, message: 'logged in as [removed]' }]);
    expect(chunks).toEqual([{ content: 'logged in as [removed]\n', streaming: true }]);
  });

  test('from a message on the stream beside the calls of several users [mcp.secrets]', async () => {
    let beside: ServerResponse | undefined;
    const waiting: (() => void)[] = [];
    const toolset = await open(
      {
        GET: (response) => {
          beside = response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.flushHeaders();
        },
        'tools/call': (response, id) => {
          const params = {
            progressToken: id,
            progress: 1,
            message: `for ${response.req.headers.authorization}`,
          };
          waiting.push(() => {
            beside?.write(said({ method: 'notifications/progress', params }));
            response.writeHead(200, { 'content-type': 'application/json' });
          });
        },
      },
      {
        principal: () => 'everybody',
        headers: (context) => ({ authorization: `Bearer ${token}-of-${context?.userId}` }),
      },
    );
    const beats: unknown[] = [];
    const ended = new AbortController();
    const runs = ['ada', 'bob'].map((userId) =>
      called(
        toolset,
        contextWith({
          ...{ userId, abortSignal: ended.signal },
          call: callOf({ heartbeat: (details) => void beats.push(details) }),
        }),
      ).catch(() => undefined),
    );
    await until(() => expect([waiting.length, beside === undefined]).toEqual([2, false]));
    for (const tell of waiting) tell();
    await until(() => expect(beats).toHaveLength(2));
    expect(leaks(beats)).toEqual(CLEAN);
    ended.abort();
    await Promise.all(runs);
  });

  test('from a list, a resource, or a warning about either [mcp.secrets]', async () => {
    const lines: string[] = [];
    const logger = getLogger();
    setLogger({ ...logger, warn: (...given: unknown[]) => lines.push(given.join(' ')) });
    try {
      const toolset = await open({
        'tools/list': {
          tools: [
            { ...tools[0], description: `Tells, with ${token}.` },
            { name: `bad ${token}`, inputSchema: { type: 'string' } },
            { ...tools[0], name: `fine_${token}`, description: 'Its name would have to be changed.' },
            {
              name: `worse ${token}`,
              inputSchema: { type: 'object', properties: { a: { $ref: `#/${token}` } } },
            },
          ],
        },
        initialize: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, resources: {} },
          serverInfo: { name: 'raw', version: '1' },
        },
        'resources/list': { resources: [{ name: 'memo', uri: 'raw://memo', description: token }] },
        'resources/read': {
          contents: [{ uri: 'raw://memo', text: `it is ${token}` }],
        },
      });
      const listed = await toolset.getTools();
      expect(listed.map(({ description }) => description)).toEqual(['Tells, with [removed].']);
      const memo = {
        role: 'user',
        parts: [{ functionResponse: { name: 'load_mcp_resource', response: { resource_names: ['memo'] } } }],
      };
      const llmRequest = { ...emptyRequest(), contents: [memo] };
      await new LoadMcpResourceTool(toolset).processLlmRequest({ toolContext: contextWith(), llmRequest });
      expect(JSON.stringify(llmRequest)).toContain('it is [removed]');
      expect(lines).toHaveLength(3);
      expect(lines.join()).toContain('its name has a secret of the connection');
      expect(leaks(llmRequest, await toolset.listResources(), lines)).toEqual(CLEAN);
    } finally {
      setLogger(logger);
    }
  });
});

describe('a secret of a connection that its server tells', () => {
  let env: TestEnvironment;
  let farm: TaskServer;
  let hears: (response: ServerResponse) => void = () => undefined;
  let desk: Awaited<ReturnType<typeof startRawServer>>;

  const form = {
    message: `Which size for ${token}?`,
    requestedSchema: { type: 'object', properties: { size: { type: 'string', description: token } } },
  };

  beforeAll(async () => {
    farm = await startTaskServer('2026-07-28');
    desk = await startRawServer({
      'tools/list': { tools },
      'tools/call': (response, id) => {
        const params = { progressToken: id, progress: 1, message: `logged in as ${token}` };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(said({ method: 'notifications/progress', params }));
        response.write(said({ id: 'q', method: 'elicitation/create', params: form }));
        hears = (heard) => {
          heard.writeHead(202).end();
          response.end(said({ id, result: { content: [{ type: 'text', text: `it is ${token}` }] } }));
        };
      },
      // The answer to its question has no method.
      undefined: (response) => hears(response),
    });
    const appOf = (name: string, url: string) => {
      const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url }, [], undefined, {
        headers,
      });
      return new App({
        name,
        rootAgent: new LlmAgent({ name, model: 'gemini-2.5-flash', tools: [toolset] }),
      });
    };
    env = await createTestEnvironment({ apps: [appOf('desk', desk.url), appOf('farm', farm.url)] });
  });
  afterAll(async () => {
    await env.close();
    await farm[Symbol.asyncDispose]();
    await desk[Symbol.asyncDispose]();
  });

  /** A turn with one question; what is kept of it, and what the model was told. */
  async function kept(app: string, tool: string, onAsked: () => Promise<unknown>) {
    env.gemini.reset([call(tool, {}), text('done')]);
    const names = { app, userId: 'ada', sessionId: randomUUID() };
    const turn = await env.client.sendMessage({ ...names, message: 'go' });
    const workflow = env.temporal.workflow.getHandle(turn.workflowId);
    const [request] = await until(async () => {
      const found = await env.client.approvals.list({ ...names, status: ['pending'] });
      expect(found).toHaveLength(1);
      return found;
    });
    const meanwhile = [await onAsked(), await env.client.jobs.list(names)];
    const { raw } = await workflow.describe();
    const beats = raw.pendingActivities?.flatMap(({ heartbeatDetails }) => heartbeatDetails?.payloads ?? []);
    const shown = beats?.map(({ data }) => Buffer.from(data ?? []).toString());
    const { requestId = '', hint } = request ?? {};
    await env.client.approvals.provideInput({ ...names, requestId }, { response: { size: '4K' } });
    const asks = () => env.client.jobs.list(names);
    return {
      hint,
      async ended() {
        expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
        const told = env.gemini.requests.map(({ body }) => body);
        const history = textOf(await workflow.fetchHistory());
        const events = await env.client.sessions.get(names);
        return { told, all: [request, meanwhile, shown, told, history, events, await asks()] };
      },
      jobs: asks,
    };
  }

  test('is neither in a turn nor in its history, where the server of 2025 asks on the open connection [mcp.secrets]', async () => {
    const { hint, ended } = await kept('desk', 'tell', async () => undefined);
    expect(hint).toBe('Which size for [removed]?');
    const { told, all } = await ended();
    expect(JSON.stringify(told)).toContain('it is [removed]');
    expect(leaks(all)).toEqual(CLEAN);
  });

  test('is neither in a job nor in its history, where the server of 2026 makes a task of the call [mcp.secrets]', async () => {
    const inputRequests = { size: { method: 'elicitation/create', params: form } };
    farm.task = { status: 'input_required', inputRequests, statusMessage: `asks ${token}` };
    const { hint, ended, jobs } = await kept('farm', 'render', async () => {
      farm.task = { status: 'working', statusMessage: `works for ${token}` };
    });
    expect(hint).toBe('Which size for [removed]?');
    await until(async () => {
      const [job] = await jobs();
      expect(job?.progress).toMatchObject({ message: 'works for [removed]' });
    });
    farm.task = { status: 'completed', result: { content: [{ type: 'text', text: `it is ${token}` }] } };
    const { told, all } = await ended();
    expect(JSON.stringify(told)).toContain('it is [removed]');
    expect(leaks(all)).toEqual(CLEAN);
  });

  test('is in no question of a call, of 2025 or of 2026 [mcp.secrets]', async () => {
    const asked: unknown[] = [];
    const asking = () =>
      Object.assign(contextWith(), {
        requestInput: async (question: unknown) => {
          asked.push(question);
          throw new Error('asked');
        },
      });
    const page = { mode: 'url', message: `Log in, ${token}.`, url: `https://x.example/?token=${token}` };
    const pages = await open({
      'tools/call': (response, id) => {
        const error = { code: -32_042, message: 'log in first', data: { elicitations: [page] } };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      },
    });
    await expect(called(pages, asking())).rejects.toThrow('asked');
    const inputRequests = { size: { method: 'elicitation/create', params: form } };
    farm.answersCall = { resultType: 'input_required', inputRequests };
    const params = { type: 'StreamableHTTPConnectionParams', url: farm.url } as const;
    const modern = new MCPToolset(params, [], undefined, { headers });
    opened.push({ [Symbol.asyncDispose]: () => modern.close() });
    await expect(called(modern, asking())).rejects.toThrow('asked');
    expect(asked).toMatchObject([
      { message: expect.stringContaining('Log in, [removed].') },
      { message: 'Which size for [removed]?' },
    ]);
    expect(leaks(asked)).toEqual(CLEAN);
  });
});
