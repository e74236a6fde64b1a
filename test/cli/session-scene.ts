import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { GeminiScript } from '../../src/testing/gemini-script.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { acquireFolder, createWorker, openTemporal } from '../../worker/index.ts';
import { openLocalGateway } from '../../worker/local-gateway.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';

const silent = () => undefined;

export const TASK_QUEUE = 'holdfast-of-one-file';

/** A folder in which an agent has run, and the process that owns it, here. */
export interface SessionScene {
  folder: string;
  client: HoldfastClient;
  /** Ends the owner: worker, gateway, store; the folder and its Temporal server stay. */
  endOwner(): Promise<void>;
  close(): Promise<void>;
}

export async function openSessionScene(agent: LlmAgent, script: GeminiScript): Promise<SessionScene> {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
  const gemini = await startMockGemini({ script });
  Object.assign(process.env, gemini.env);
  const ownership = acquireFolder(join(mkdtempSync(join(tmpdir(), 'holdfast-sessions-')), '.holdfast'));
  const { folder } = ownership;
  putStore(folder);
  const [temporal, store] = await Promise.all([openTemporal({ folder }), openStore({ folder })]);
  const native = await NativeConnection.connect(temporal.connectionOptions);
  const connection = await Connection.connect({
    ...temporal.connectionOptions,
    interceptors: retriesUntilClosed(),
  });
  const worker = await createWorker({
    agents: [agent],
    store,
    connection: native,
    taskQueue: TASK_QUEUE,
    searchAttributes: true,
    shutdownGraceTime: 0,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  const running = worker.run();
  const client = new HoldfastClient({
    temporal: new Client({ connection }),
    store,
    taskQueue: TASK_QUEUE,
    searchAttributes: true,
  });
  const gateway = await openLocalGateway({
    ownership,
    client,
    about: () => ({
      v: 1,
      version: '0',
      namespace: 'default',
      taskQueue: TASK_QUEUE,
      store: 'embedded',
      apps: ['shop'],
      agents: [agent.name],
    }),
    ready: async () => ({}),
  });
  let owned = true;
  const endOwner = async () => {
    if (!owned) return;
    owned = false;
    await gateway.close();
    worker.shutdown();
    await running;
    await store.close();
    await native.close();
    await connection.close();
    ownership.release();
  };
  return {
    folder,
    client,
    endOwner,
    async close() {
      await endOwner();
      await gemini.close();
      await endServer(folder);
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
}
