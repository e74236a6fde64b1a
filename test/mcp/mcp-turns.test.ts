import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { MCPToolset, type MCPToolsetOptions } from '../../src/tools/mcp/mcp-toolset.ts';
import { until } from '../setup/until.ts';
import { type ModernServer, startModernServer } from './modern-server.ts';

let server: ModernServer;
let env: TestEnvironment;

beforeAll(async () => {
  server = await startModernServer();
  const connection = { type: 'StreamableHTTPConnectionParams', url: server.url } as const;
  const appOf = (name: string, toolset: MCPToolset) =>
    new App({ name, rootAgent: new LlmAgent({ name, model: 'gemini-2.5-flash', tools: [toolset] }) });
  env = await createTestEnvironment({
    apps: [
      appOf('desk', new MCPToolset(connection)),
      appOf('few', new MCPToolset(connection, ['add'], 'office')),
      appOf(
        'gated',
        new MCPToolset(connection, [], undefined, {
          defaults: { requireConfirmation: (toolName) => toolName === 'wipe' },
        }),
      ),
    ],
  });
});
afterAll(async () => {
  await env.close();
  await server[Symbol.asyncDispose]();
});

describe('tools of an MCP server', () => {
  test('are called by a turn, each once, with structured content, media and errors [mcp.tools]', async () => {
    env.gemini.reset([
      [call('add', { a: 2, b: 3 }), call('draw', {}), call('fail', {}), call('add', { a: 'x' })],
      text('done'),
    ]);
    const turn = await env.run({ app: 'desk', message: 'go' });
    expect(turn.calls.map(({ response }) => response)).toEqual([
      { output: { sum: 5 } },
      { output: 'A dot.\nmemo://1:\nRemember.' },
      { error: 'Tool execution failed. Details: the printer is on fire' },
      { error: expect.stringContaining("Error in tool 'add': invalid arguments") },
    ]);
    const contents = JSON.stringify(env.gemini.requests.at(-1)?.body.contents);
    expect(contents).toContain('"mimeType":"image/png"');
    expect(server.served.map(({ tool }) => tool).sort()).toEqual(['add', 'draw', 'fail']);
    expect(new Set(server.served.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
  });

  test('have a prefix, and are filtered by their own names [mcp.tools]', async () => {
    env.gemini.reset([call('office_add', { a: 1, b: 1 }), text('two')]);
    const turn = await env.run({ app: 'few', message: 'go' });
    expect(turn.calls[0]?.response).toEqual({ output: { sum: 2 } });
    const declared = JSON.stringify(env.gemini.requests[0]?.body.tools);
    expect(declared).toContain('office_add');
    expect(declared).not.toContain('draw');
  });

  test('ask people, and go on with the answer, on another worker [mcp.input]', async () => {
    server.served.length = 0;
    env.gemini.reset([call('book', { day: 'friday' }), text('Booked.')]);
    const names = { app: 'desk', userId: 'ada', sessionId: 's1' };
    const handle = await env.client.sendMessage({ ...names, message: 'a table' });
    const request = await until(async () => {
      const [found] = await env.client.approvals.list({ app: 'desk', status: ['pending'] });
      if (found === undefined) throw new Error('nobody was asked');
      return found;
    });
    expect(request).toMatchObject({ kind: 'input', hint: 'For how many people?' });
    expect(server.served).toEqual([]);
    await env.restartWorker();
    const { requestId } = request;
    await env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 4 } });
    const turn = await handle.result();
    expect(turn).toMatchObject({ status: 'completed', text: 'Booked.' });
    expect(server.served).toMatchObject([
      { tool: 'book', args: { day: 'friday', people: 4, state: 'day:friday' } },
    ]);
  });

  test('wait for an approval by their server’s name and arguments, which is for the tool as it was described then [mcp.gate] [mcp.pinned]', async () => {
    server.extra.set('wipe', 'Wipes a table.');
    server.changed();
    const names = { app: 'gated', userId: 'ada', sessionId: 's2' };
    const decide = async (script: ReturnType<typeof call>[], between: () => void) => {
      server.served.length = 0;
      env.gemini.reset([...script, text('done')]);
      const handle = await env.client.sendMessage({ ...names, message: 'go' });
      const request = await until(async () => {
        const [found] = await env.client.approvals.list({ app: 'gated', status: ['pending'] });
        if (found === undefined) throw new Error('nobody was asked');
        return found;
      });
      between();
      const { requestId } = request;
      await env.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
      await handle.result();
      return JSON.stringify(env.gemini.requests.at(-1)?.body.contents);
    };
    await until(async () => {
      env.gemini.reset([text('hi')]);
      await env.run({ app: 'gated', userId: 'ada', message: 'hi' });
      expect(JSON.stringify(env.gemini.requests[0]?.body.tools)).toContain('wipe');
    });
    await decide([call('wipe', {})], () => undefined);
    expect(server.served.map(({ tool }) => tool)).toEqual(['wipe']);
    const changed = await decide([call('wipe', {})], () => {
      server.extra.set('wipe', 'Wipes everything.');
      server.changed();
    });
    expect(server.served).toEqual([]);
    expect(changed).toContain('tool changed since the approval');
  });

  test('appear and vanish while turns run [mcp.changes]', async () => {
    server.extra.set('hello', 'Says hello.');
    server.changed();
    const declared = async () => {
      env.gemini.reset([text('hi')]);
      await env.run({ app: 'desk', message: 'hi' });
      return JSON.stringify(env.gemini.requests[0]?.body.tools);
    };
    await until(async () => expect(await declared()).toContain('hello'));
    server.extra.delete('hello');
    server.changed();
    await until(async () => expect(await declared()).not.toContain('hello'));
    env.gemini.reset([call('hello', {}), text('gone')]);
    const turn = await env.run({ app: 'desk', message: 'say hello' });
    expect(turn.calls[0]?.response).toEqual({ error: expect.stringContaining('hello') });
  });

  test('are tried again while their server is away, and a server that stays away fails the turn with its name [mcp.failures]', async () => {
    server.refuses.push(429, 429);
    env.gemini.reset([call('add', { a: 1, b: 2 }), text('three')]);
    const turn = await env.run({ app: 'desk', message: 'go' });
    expect(turn.calls[0]?.response).toEqual({ output: { sum: 3 } });
    expect(server.refuses).toEqual([]);
  });
});

describe('hints of a server', () => {
  const toolOf = async (options: MCPToolsetOptions, name = 'add') => {
    const toolset = new MCPToolset(
      { type: 'StreamableHTTPConnectionParams', url: server.url },
      [],
      undefined,
      options,
    );
    try {
      const tool = (await toolset.getTools()).find((each) => each.name === name);
      return { isReadOnly: tool?.isReadOnly, idempotent: tool?.durable.idempotent };
    } finally {
      await toolset.close();
    }
  };

  test('loosen a policy only where they are trusted, and tighten it anyway [mcp.hints]', async () => {
    expect(await toolOf({})).toEqual({ isReadOnly: false, idempotent: false });
    expect(await toolOf({ trustAnnotations: true })).toEqual({ isReadOnly: true, idempotent: true });
    const loose = { defaults: { isReadOnly: true, idempotent: true } };
    expect(await toolOf(loose)).toEqual({ isReadOnly: true, idempotent: true });
    expect(await toolOf(loose, 'book')).toEqual({ isReadOnly: false, idempotent: true });
    const tools = { book: { isReadOnly: true } };
    expect(await toolOf({ ...loose, tools }, 'book')).toEqual({ isReadOnly: true, idempotent: true });
  });
});
