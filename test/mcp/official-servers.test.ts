import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { MCPConnectionParams } from '../../src/tools/mcp/connection-params.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { contextWith } from '../definitions/tool-context.ts';
import { freePort } from '../setup/free-port.ts';
import { until } from '../setup/until.ts';

const programOf = (name: string) =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`));
const overStdio = (name: string, ...args: string[]): MCPConnectionParams => ({
  type: 'StdioConnectionParams',
  serverParams: { command: process.execPath, args: [programOf(name), ...args] },
});
async function pidsOf(program: string): Promise<number[]> {
  const ps = spawn('ps', ['-eo', 'pid,args']);
  const lines = (await text(ps.stdout)).split('\n');
  return lines.filter((line) => line.includes(program)).map((line) => Number.parseInt(line, 10));
}

async function run(tools: readonly BaseTool[], name: string, args: Record<string, unknown> = {}) {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}: ${tools.map((each) => each.name).join()}`);
  return await tool.runAsync({ args, toolContext: contextWith() });
}

describe('servers of the revision 2025-11-25', () => {
  let http: ChildProcess;
  let url = '';
  beforeAll(async () => {
    const port = await freePort();
    http = spawn(process.execPath, [programOf('everything'), 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
    });
    url = `http://127.0.0.1:${port}/mcp`;
    await until(async () => expect((await fetch(url)).status).toBeGreaterThan(0));
  });
  afterAll(async () => {
    http.kill();
    await once(http, 'exit');
  });

  const ways: Record<string, () => MCPConnectionParams> = {
    'standard input and output': () => overStdio('everything'),
    'Streamable HTTP': () => ({ type: 'StreamableHTTPConnectionParams', url }),
  };
  test.each(Object.keys(ways))('server-everything over %s [mcp.official]', async (way) => {
    const toolset = new MCPToolset((ways[way] as () => MCPConnectionParams)());
    try {
      const tools = await toolset.getTools();
      expect(await run(tools, 'echo', { message: 'hello' })).toEqual({ output: 'Echo: hello' });
      expect(await run(tools, 'get-sum', { a: 2, b: 3 })).toEqual({ output: 'The sum of 2 and 3 is 5.' });
      expect(await run(tools, 'get-structured-content', { location: 'Chicago' })).toMatchObject({
        output: { temperature: expect.any(Number), conditions: expect.any(String) },
      });
      expect(await run(tools, 'get-tiny-image')).toMatchObject({
        response: { output: expect.any(String) },
        media: [{ data: expect.any(Uint8Array) }],
      });
      const resources = await toolset.listResources();
      expect(resources.length).toBeGreaterThan(0);
      const [first] = await toolset.readResource(resources[0]?.uri ?? '');
      expect(first).toHaveProperty('uri', resources[0]?.uri);
      await expect(run(tools, 'get-sum', { a: 'x', b: 3 })).rejects.toThrow(/invalid arguments/);
    } finally {
      await toolset.close();
    }
  });

  test('server-filesystem and server-memory, and no process stays [mcp.official] [mcp.processes]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-mcp-'));
    await writeFile(join(folder, 'a.txt'), 'Hello.');
    const files = new MCPToolset(overStdio('filesystem', folder), ['read_text_file']);
    const memory = new MCPToolset({
      type: 'StdioConnectionParams',
      serverParams: {
        command: process.execPath,
        args: [programOf('memory')],
        env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
      },
    });
    const read = await files.getTools(contextWith());
    expect(read.map(({ name }) => name)).toEqual(['read_text_file']);
    expect(await run(read, 'read_text_file', { path: join(folder, 'a.txt') })).toEqual({
      output: { content: 'Hello.' },
    });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes tea'] }];
    const tools = await memory.getTools();
    await run(tools, 'create_entities', { entities });
    expect(JSON.stringify(await run(tools, 'search_nodes', { query: 'tea' }))).toContain('Ada');
    await Promise.all([files.close(), memory.close()]);
    await until(async () => expect(await pidsOf(folder)).toEqual([]));
  });

  test('a server whose process ends is started again [mcp.restart]', async () => {
    const marker = `marker-${process.pid}`;
    // The process may be gone before its connection has heard of it: the call may have run then.
    const options = { defaults: { idempotent: true } };
    const toolset = new MCPToolset(overStdio('everything', 'stdio', marker), [], undefined, options);
    try {
      const tools = await toolset.getTools();
      expect(await run(tools, 'echo', { message: 'one' })).toEqual({ output: 'Echo: one' });
      await killAll(marker);
      await until(async () => expect(await pidsOf(marker)).toEqual([]));
      expect(await run(tools, 'echo', { message: 'two' })).toEqual({ output: 'Echo: two' });
    } finally {
      await toolset.close();
    }
    await until(async () => expect(await pidsOf(marker)).toEqual([]));
  });

  test('a server over HTTP that forgets its sessions is connected to again [mcp.restart]', async () => {
    const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url });
    try {
      const tools = await toolset.getTools();
      const port = new URL(url).port;
      http.kill();
      await once(http, 'exit');
      await expect(run(tools, 'echo', { message: 'one' })).rejects.toMatchObject({
        code: 'HOLDFAST_MCP_UNAVAILABLE',
        retryable: true,
      });
      http = spawn(process.execPath, [programOf('everything'), 'streamableHttp'], {
        env: { ...process.env, PORT: port },
        stdio: 'ignore',
      });
      await until(async () => expect((await fetch(url)).status).toBeGreaterThan(0));
      expect(await run(tools, 'echo', { message: 'two' })).toEqual({ output: 'Echo: two' });
    } finally {
      await toolset.close();
    }
  });
});

async function killAll(marker: string): Promise<void> {
  for (const pid of await pidsOf(marker)) process.kill(pid, 'SIGKILL');
}
