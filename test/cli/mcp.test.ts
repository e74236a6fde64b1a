import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, expect, test } from 'vitest';
import { inTier, isDeep } from '../setup/tier.ts';
import { HoldfastProcess } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const project = new UserProject();
afterAll(() => project.remove());

test(
  'holdfast mcp serves agents and tools over standard input and output, whatever tools print [mcp.stdio]',
  async () => {
    const file = project.write(
      'agents.ts',
      `import { writeSync } from 'node:fs';
     import { LlmAgent, ToolAgent, tool } from 'holdfast';
     import { z } from 'zod';
     const add = tool({
       name: 'add',
       description: 'Adds two numbers.',
       parameters: z.object({ a: z.number(), b: z.number() }),
       execute: ({ a, b }) => {
         console.log('adding');
         writeSync(process.stdout.fd, 'by a logger\\n');
         return { sum: a + b };
       },
     });
     export const rootAgent = new LlmAgent({ name: 'support', description: 'Answers.', model: 'gemini-2.5-flash' });
     export const desk = new ToolAgent({ name: 'desk', tools: [add] });`,
    );
    const transport = transportTo(file);
    let told = '';
    transport.stderr?.on('data', (chunk: Buffer) => {
      told += chunk.toString();
    });
    const client = new Client({ name: 'test', version: '1' });
    const problems: Error[] = [];
    client.onerror = (error) => problems.push(error);
    await client.connect(transport, { timeout: 120_000 });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(['add', 'await_turn', 'support']);
    expect(await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).toMatchObject({
      structuredContent: { sum: 5 },
    });
    const { structuredContent } = await client.callTool({ name: 'support', arguments: { message: 'Hi' } });
    expect(structuredContent).toMatchObject({ status: 'completed', answer: expect.any(String) });
    expect(problems).toEqual([]);
    const { pid } = transport;
    await client.close();
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(told).toMatch(/adding\nby a logger/);
    expect(told).toMatch(/offers add, support to MCP clients/);
  },
  inTier(180_000, 300_000),
);

test('beside holdfast dev it serves what dev runs, until its client closes [mcp.stdio]', async () => {
  const owned = new UserProject();
  const file = owned.write(
    'agents.ts',
    `import { ToolAgent, tool } from 'holdfast';
     import { z } from 'zod';
     const ran = tool({
       name: 'ran',
       description: 'Says which process runs it.',
       parameters: z.object({}),
       execute: () => ({ by: process.ppid }),
     });
     export const rootAgent = new ToolAgent({ name: 'desk', tools: [ran] });`,
  );
  const dev = new HoldfastProcess(['dev', file, '--no-chat'], { cwd: owned.path });
  try {
    await dev.prints(/gateway {3}http/);
    const client = new Client({ name: 'test', version: '1' });
    const transport = transportTo(file, owned);
    await client.connect(transport, { timeout: 120_000 });
    for (let asked = 0; asked < 2; asked += 1) {
      const { structuredContent } = await client.callTool({ name: 'ran', arguments: {} });
      expect(structuredContent).toEqual({ by: dev.pid });
    }
    const { pid } = transport;
    await client.close();
    await expect.poll(() => isAlive(pid)).toBe(false);
  } finally {
    dev.kill('SIGTERM');
    await dev.finished();
    await owned.remove();
  }
});

if (isDeep) {
  test('a line that is too long ends the process, which would read no other one [mcp.stdio]', async () => {
    const file = project.write(
      'deaf.ts',
      "import { LlmAgent } from 'holdfast'; export const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });",
    );
    const transport = transportTo(file);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport, { timeout: 120_000 });
    const { pid } = transport;
    const call = { name: 'support', arguments: { message: 'x'.repeat(11 * 1024 * 1024) } };
    await expect(client.callTool(call)).rejects.toThrow(/closed/i);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
}

function transportTo(file: string, { path, folder } = project): StdioClientTransport {
  const { GEMINI_API_KEY: _gemini, GOOGLE_API_KEY: _google, ...env } = process.env;
  return new StdioClientTransport({
    command: process.execPath,
    args: [join(path, 'node_modules/holdfast/bin/holdfast.js'), 'mcp', file, '--folder', folder],
    // As clients do: not in the project.
    cwd: tmpdir(),
    env: { ...(env as Record<string, string>), TEMPORAL_DEBUG: '1', NO_COLOR: '1' },
    stderr: 'pipe',
  });
}

function isAlive(pid: number | null): boolean {
  try {
    process.kill(pid ?? 0, 0);
    return true;
  } catch {
    return false;
  }
}
