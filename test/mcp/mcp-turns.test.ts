import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
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
        new MCPToolset(connection, [], undefined, { tools: { draw: { requireConfirmation: true } } }),
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
});
