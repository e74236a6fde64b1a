import { spawn } from 'node:child_process';
import type { Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { contextWith } from '../definitions/tool-context.ts';
import { until } from '../setup/until.ts';

const EVERYTHING = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);
const CONNECTIONS = 100;
/** Processes that live at once: a small machine starts no more of them well. */
const AT_ONCE = 5;

const users = Array.from({ length: CONNECTIONS }, (_, index) => `user-${index}`);

/** Calls a tool for a user. */
async function echoed(toolset: MCPToolset, userId: string): Promise<void> {
  const toolContext = contextWith({ userId });
  const echo = (await toolset.getTools(toolContext)).find(({ name }) => name === 'echo');
  const output = await echo?.runAsync({ args: { message: userId }, toolContext });
  expect(output).toEqual({ output: `Echo: ${userId}` });
}

async function processesOf(marker: string): Promise<number> {
  const lines = (await text(spawn('ps', ['-eo', 'args']).stdout)).split('\n');
  return lines.filter((line) => line.includes(marker)).length;
}

test('100 connections to programs leave no process and no pipe [mcp.leaks]', async () => {
  const marker = `leaks-${process.pid}`;
  const toolset = new MCPToolset(
    {
      type: 'StdioConnectionParams',
      timeout: 120_000,
      serverParams: { command: process.execPath, args: [EVERYTHING, 'stdio', marker] },
    },
    ['echo'],
    undefined,
    { maxConnections: AT_ONCE },
  );
  // The first connection loads the package.
  await echoed(toolset, 'first');
  await toolset.close();
  await until(async () => expect(await processesOf(marker)).toBe(0));
  const pipes = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length;
  const before = pipes();
  for (let begun = 0; begun < CONNECTIONS; begun += AT_ONCE) {
    await Promise.all(users.slice(begun, begun + AT_ONCE).map((user) => echoed(toolset, user)));
    // The program of a connection that made room ends a moment later.
    await until(async () => expect(await processesOf(marker)).toBeLessThanOrEqual(AT_ONCE));
  }
  await toolset.close();
  await until(async () => expect(await processesOf(marker)).toBe(0));
  await until(() => expect(pipes()).toBeLessThanOrEqual(before));
}, 1_200_000);

test('100 principals over HTTP leave no socket and no request [mcp.leaks]', async () => {
  const state = { opened: 0, sockets: 0, requests: 0 };
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'desk', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool(
      'echo',
      { description: 'Echoes.', inputSchema: z.object({ message: z.string() }) },
      ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
    );
    return server;
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const message = request.method === 'POST' ? await request.clone().text() : '';
        if (message.includes('"server/discover"')) state.opened += 1;
        return await handler.fetch(request);
      },
    },
    ({ port }) => resolve(port),
  ) as Server;
  server.on('connection', (socket) => {
    state.sockets += 1;
    socket.on('close', () => {
      state.sockets -= 1;
    });
  });
  server.on('request', (_request, response) => {
    state.requests += 1;
    response.on('close', () => {
      state.requests -= 1;
    });
  });
  try {
    const toolset = new MCPToolset({
      type: 'StreamableHTTPConnectionParams',
      url: `http://127.0.0.1:${await promise}/mcp`,
    });
    await Promise.all(users.map((user) => echoed(toolset, user)));
    await Promise.all(users.map((user) => echoed(toolset, user)));
    expect(state.opened).toBe(CONNECTIONS);
    // Each connection hears of changes by a request that stays open.
    expect(state.requests).toBe(CONNECTIONS);
    await toolset.close();
    await until(() => expect(state.requests).toBe(0));
    // Sockets without a request are kept for the next one, for some seconds.
    await until(() => expect(state.sockets).toBe(0));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}, 300_000);
