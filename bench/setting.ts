import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { buildBundle } from '../scripts/build-bundle.ts';
import { LlmAgent, type LlmAgentConfig } from '../src/agents/llm-agent.ts';
import type { App } from '../src/app/app.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { type OpenedStore, openStore } from '../src/store/open-store.ts';
import type { Store } from '../src/store/store.ts';
import type { DurableOptions } from '../src/tools/durable-options.ts';
import { tool } from '../src/tools/function-tool.ts';
import { acquireFolder, createWorker, openTemporal } from '../worker/index.ts';
import type { BareTurn } from './bare-workflows.ts';
import { FakeLlm } from './fake-llm.ts';

export const BARE_QUEUE = 'bare';
export const HOLDFAST_QUEUE = 'holdfast';

export interface Setting {
  temporal: Client;
  client: HoldfastClient;
  store: OpenedStore;
  /** The Temporal server's folder, if it was started here. */
  folder: string;
  close(): Promise<void>;
}

export interface SettingOptions {
  /** Apps of Holdfast's worker, beside the agent of the bench. */
  apps?: readonly App[];
  /** Wraps the worker's store. */
  around?: (store: Store) => Store;
  /** The work of a bare turn's call. Defaults to bytes, made at once. */
  bareWork?: (turn: BareTurn) => Promise<string>;
  /** Called when the awaited activity of a bare turn begins, after its write. */
  onBareBegin?: () => void;
}

/** @param agent settings of it, and of its tool. */
export function benchAgent(
  agent: Partial<LlmAgentConfig> = {},
  ofTool: Partial<DurableOptions> = {},
): LlmAgent {
  return new LlmAgent({
    name: 'bench',
    model: new FakeLlm(),
    maxParallelCalls: 100,
    ...agent,
    tools: [
      tool({
        name: 'work',
        description: 'returns bytes',
        ...ofTool,
        parameters: {
          type: 'object',
          properties: { index: { type: 'integer' }, bytes: { type: 'integer' } },
          required: ['index', 'bytes'],
        },
        execute: ({ bytes }) => ({ data: 'x'.repeat(Number(bytes)) }),
      }),
    ],
  });
}

/** One server, one store, and both kinds of worker in this process. */
export async function openSetting(options: SettingOptions = {}): Promise<Setting> {
  await buildBundle();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
  const temporal = await openTemporal({ folder, onProgress: (line) => console.error(line) });
  const url = process.env.HOLDFAST_STORE;
  const store = await openStore({ folder, ...(url ? { url } : {}) });
  await sql`create table if not exists bench_writes (id bigserial primary key, body text)`.execute(store.db);
  const connection = await Connection.connect({
    ...temporal.connectionOptions,
    channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
  });
  const native = await NativeConnection.connect(temporal.connectionOptions);
  const client = new Client({ connection, namespace: temporal.namespace });
  const write = async (turn: BareTurn, body: string) => {
    for (let written = 0; written < turn.writes; written += 1) {
      await sql`insert into bench_writes (body) values (${body})`.execute(store.db);
    }
    return body;
  };
  const bare = await Worker.create({
    connection: native,
    taskQueue: BARE_QUEUE,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('./bare-workflows.ts', import.meta.url)),
      logger: new DefaultLogger('ERROR'),
    }),
    stickyQueueScheduleToStartTimeout: '1s',
    maxCachedWorkflows: 200,
    activities: {
      bareModel: (turn: BareTurn) => write(turn, 'asked'),
      work: async (turn: BareTurn) =>
        await write(turn, (await options.bareWork?.(turn)) ?? 'x'.repeat(turn.resultBytes)),
      workGiven: async (turn: BareTurn) => {
        await write(turn, 'given');
        options.onBareBegin?.();
      },
    },
  });
  const ours = await createWorker({
    agents: [benchAgent()],
    apps: options.apps ?? [],
    store: options.around?.(store) ?? store,
    connection: native,
    taskQueue: HOLDFAST_QUEUE,
    searchAttributes: true,
  });
  const running = [bare.run(), ours.run()];
  return {
    temporal: client,
    client: new HoldfastClient({
      temporal: client,
      taskQueue: HOLDFAST_QUEUE,
      searchAttributes: true,
    }),
    store,
    folder,
    async close() {
      bare.shutdown();
      ours.shutdown();
      await Promise.all(running);
      await store.close();
      await native.close();
      await connection.close();
      await temporal.stop?.();
      release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
