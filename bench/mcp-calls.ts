import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { App } from '../src/app/app.ts';
import { Context } from '../src/tools/context.ts';
import { MCPToolset } from '../src/tools/mcp/mcp-toolset.ts';
import type { BareTurn } from './bare-workflows.ts';
import { FakeLlm } from './fake-llm.ts';
import { BARE_QUEUE, openSetting, type Setting } from './setting.ts';
import { median, table } from './statistics.ts';

/**
 * A call of an MCP server in a turn, against a bare workflow on the same Temporal server whose activity calls the same MCP server by the
 * bare client, on a connection that it keeps. `bare+write` does one insert beside each activity, as in turn.ts. `bare+2 writes` does two,
 * as many statements as the ledger has: the least that a record of the start and the end of each activity costs. In `bare local` and
 * `local tool` the tool answers in the worker, without a server: the rest of `bare` and `holdfast` is the call of the server.
 *
 * The marginal cost of a call is that of a turn with `MORE` calls less that of a turn with one, divided by the difference: the start and
 * the end of the turn, which turn.ts measures, are in neither. A call one after another has its model step with it, on both sides. The
 * ratio of a round compares runs that followed each other; the table has the medians of the rounds.
 */
const KINDS = ['bare', 'bare+write', 'bare+2 writes', 'holdfast', 'bare local', 'local tool'] as const;
const WRITES: Partial<Record<Kind, number>> = { 'bare+write': 1, 'bare+2 writes': 2 };
type Kind = (typeof KINDS)[number];

const MORE = 11;
const BYTES = 512;
const REACH = 1.25;

/**
 * @param calls of one principal, whose connections are counted.
 * @returns the tables.
 */
export async function benchMcpCalls({ rounds, calls }: { rounds: number; calls: number }): Promise<string> {
  await using server = await startServer();
  const bare = new Client({ name: 'bare', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await bare.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/bare`)));
  const toolset = new MCPToolset({
    type: 'StreamableHTTPConnectionParams',
    url: `${server.url}/holdfast`,
  });
  const rootAgent = new LlmAgent({
    name: 'outside',
    model: new FakeLlm(),
    maxParallelCalls: 100,
    tools: [toolset],
  });
  const setting = await openSetting({
    apps: [new App({ name: 'outside', rootAgent })],
    bareWork: async ({ resultBytes, local }) => {
      if (local) return 'x'.repeat(resultBytes);
      const { content } = await bare.callTool({ name: 'work', arguments: { index: 0, bytes: resultBytes } });
      const [first] = content;
      return first?.type === 'text' ? first.text : '';
    },
  });
  try {
    const costs = await costsOf(setting, rounds);
    const before = server.calls('holdfast');
    while (server.calls('holdfast') < before + calls)
      await runOne(setting, 'holdfast', { calls: 100, parallel: true, resultBytes: BYTES });
    const counted = server.calls('holdfast') - before;
    return [
      costs,
      await costsWithoutTurn(toolset, bare, rounds),
      table([
        [`connections for ${counted} calls of one principal, 100 at once`, 'allowed', 'measured'],
        ['connections of MCP', '<= 1', String(server.opened('holdfast'))],
      ]),
    ].join('\n\n');
  } finally {
    await setting.close();
    await toolset.close();
    await bare.close();
  }
}

async function costsOf(setting: Setting, rounds: number): Promise<string> {
  const rows = [
    [
      'one more call, ms',
      ...KINDS,
      'of one alone: ours/bare',
      'ours/bare',
      'ours/write',
      '2 writes/bare',
      `<= ${REACH} of bare`,
      'of the server: ours - bare',
    ],
  ];
  for (const parallel of [false, true]) {
    const more = ofEachKind();
    const alone = ofEachKind();
    // The first round warms connections, caches and the compiler.
    for (let round = -1; round < rounds; round += 1) {
      for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
        const [one, many] = [
          await timeOf(setting, kind, { calls: 1, parallel }),
          await timeOf(setting, kind, { calls: MORE, parallel }),
        ];
        if (round < 0) continue;
        alone[kind].push(one);
        more[kind].push((many - one) / (MORE - 1));
      }
    }
    const ratio = (of: Record<Kind, number[]>, to: Kind, kind: Kind = 'holdfast') =>
      median(of[kind].map((ms, pair) => ms / (of[to][pair] ?? Number.NaN)));
    const at = (kind: Kind, pair: number) => more[kind][pair] ?? Number.NaN;
    const measured = ratio(more, 'bare');
    rows.push([
      parallel ? 'all in one step' : 'one after another, each with a step',
      ...KINDS.map((kind) => median(more[kind]).toFixed(1)),
      ratio(alone, 'bare').toFixed(2),
      measured.toFixed(2),
      ratio(more, 'bare+write').toFixed(2),
      ratio(more, 'bare', 'bare+2 writes').toFixed(2),
      measured <= REACH ? 'reached' : 'missed',
      median(
        more.holdfast.map(
          (ms, pair) => ms - at('local tool', pair) - at('bare', pair) + at('bare local', pair),
        ),
      ).toFixed(1),
    ]);
  }
  return table(rows);
}

/** The client by itself: calls of the tool outside of a turn, `MORE` at once, without Temporal and store. */
async function costsWithoutTurn(toolset: MCPToolset, bare: Client, rounds: number): Promise<string> {
  const toolContext = new Context({
    ...{
      appName: 'outside',
      userId: 'u',
      sessionId: 's',
      invocationId: 'i',
      agentName: 'outside',
      state: {},
    },
    userContent: { role: 'user', parts: [{ text: 'go' }] },
  });
  const args = { index: 0, bytes: BYTES };
  const bareCall = () => bare.callTool({ name: 'work', arguments: args });
  const ownCall = async () => {
    const [tool] = await toolset.getTools(toolContext);
    return await tool?.runAsync({ args, toolContext });
  };
  const times: { bare: number[]; ours: number[] } = { bare: [], ours: [] };
  for (let round = -1; round < rounds; round += 1) {
    const [one, other] = [await timeOfCalls(bareCall), await timeOfCalls(ownCall)];
    if (round < 0) continue;
    times.bare.push(one);
    times.ours.push(other);
  }
  const ratio = median(times.ours.map((ms, pair) => ms / (times.bare[pair] ?? Number.NaN)));
  return table([
    [`a call without a turn, ${MORE} at once, ms`, 'bare', 'holdfast', 'ours/bare'],
    [
      'in the process of the server',
      median(times.bare).toFixed(2),
      median(times.ours).toFixed(2),
      ratio.toFixed(2),
    ],
  ]);
}

async function timeOfCalls(call: () => Promise<unknown>): Promise<number> {
  const times = 50;
  const began = performance.now();
  for (let time = 0; time < times; time += 1) await Promise.all(Array.from({ length: MORE }, call));
  return (performance.now() - began) / (times * MORE);
}

function ofEachKind(): Record<Kind, number[]> {
  return {
    bare: [],
    'bare+write': [],
    'bare+2 writes': [],
    holdfast: [],
    'bare local': [],
    'local tool': [],
  };
}

async function timeOf(
  setting: Setting,
  kind: Kind,
  shape: { calls: number; parallel: boolean },
): Promise<number> {
  const began = performance.now();
  await runOne(setting, kind, { ...shape, resultBytes: BYTES });
  return performance.now() - began;
}

async function runOne(
  { temporal, client }: Setting,
  kind: Kind,
  shape: Omit<BareTurn, 'writes' | 'local'>,
): Promise<void> {
  const sessionId = randomUUID();
  if (kind === 'holdfast' || kind === 'local tool') {
    const turn = await client.sendMessage({
      ...{ app: kind === 'holdfast' ? 'outside' : 'bench', userId: 'u', sessionId },
      message: JSON.stringify(shape),
    });
    const { status, error } = await turn.result();
    if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
    return;
  }
  const turn: BareTurn = { ...shape, writes: WRITES[kind] ?? 0, local: kind === 'bare local' };
  const workflowId = `outside/u/${sessionId}`;
  await temporal.workflow.execute('bareTurn', { workflowId, taskQueue: BARE_QUEUE, args: [turn] });
}

interface CountingServer extends AsyncDisposable {
  url: string;
  /** Calls of its tool by the client of this path. */
  calls(path: string): number;
  /** Connections of MCP: requests by which a client meets the server. */
  opened(path: string): number;
}

/** A server of the official package over Streamable HTTP. */
async function startServer(): Promise<CountingServer> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'outside', version: '1' });
    const inputSchema = z.object({ index: z.number(), bytes: z.number() });
    server.registerTool('work', { description: 'returns bytes', inputSchema }, ({ bytes }) => ({
      content: [{ type: 'text', text: 'x'.repeat(bytes) }],
    }));
    return server;
  });
  const asked = new Map<string, number>();
  const of = (path: string, method: string) => asked.get(`/${path} ${method}`) ?? 0;
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        if (request.method === 'POST') {
          const { method } = (await request.clone().json()) as { method?: string };
          const key = `${new URL(request.url).pathname} ${method}`;
          asked.set(key, (asked.get(key) ?? 0) + 1);
        }
        return await handler.fetch(request);
      },
    },
    ({ port }) => resolve(port),
  ) as Server;
  return {
    url: `http://127.0.0.1:${await promise}`,
    calls: (path) => of(path, 'tools/call'),
    opened: (path) => of(path, 'server/discover') + of(path, 'initialize'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const { promise: closed, resolve: done } = Promise.withResolvers<void>();
      server.close(() => done());
      await closed;
    },
  };
}
