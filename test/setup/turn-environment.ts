import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { AgentTurnStart, TurnResult } from '../../src/protocol/turn.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { StoredEvent } from '../../src/store/store.ts';
import {
  type GeminiScript,
  type GeminiStandIn,
  startGeminiStandIn,
} from '../../src/testing/gemini-stand-in.ts';
import { acquireFolder, createWorker, openTemporal } from '../../worker/index.ts';
import { stepCalls } from './scripts.ts';

export type History = temporal.api.history.v1.IHistory;

export interface RanTurn {
  result: TurnResult;
  events: StoredEvent[];
  history: History;
  workflowId: string;
}

/** A Temporal server, a store, a Gemini stand-in and a worker, all real, in this process. */
export interface TurnEnvironment {
  temporal: Client;
  client: HoldfastClient;
  store: OpenedStore;
  gemini: GeminiStandIn;
  /** Runs a turn to its end; app, user and a new session are filled in. */
  run(turn: Partial<AgentTurnStart> & { message: AgentTurnStart['message'] }): Promise<RanTurn>;
  close(): Promise<void>;
}

const QUIET = new DefaultLogger('ERROR', ({ message, meta }) =>
  process.stderr.write(`${message} ${String(meta?.error)}\n`),
);

export async function openTurnEnvironment(options: {
  agents: readonly LlmAgent[];
  script?: GeminiScript;
}): Promise<TurnEnvironment> {
  Runtime.install({ logger: QUIET });
  const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  const gemini = await startGeminiStandIn({ script: options.script ?? stepCalls([]) });
  Object.assign(process.env, gemini.env);
  const [server, store] = await Promise.all([openTemporal({ folder }), openStore({ folder })]);
  const connection = await Connection.connect({
    ...server.connectionOptions,
    channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
  });
  const native = await NativeConnection.connect(server.connectionOptions);
  const temporalClient = new Client({ connection, namespace: server.namespace });
  const worker = await createWorker({
    agents: options.agents,
    store,
    connection: native,
    searchAttributes: true,
    logger: { warn: () => undefined },
    shutdownGraceTime: 0,
  });
  const running = worker.run();
  const client = new HoldfastClient({ temporal: temporalClient, searchAttributes: true });
  return {
    temporal: temporalClient,
    client,
    store,
    gemini,
    async run(turn) {
      const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
      const handle = await client.startTurn({ ...names, ...turn });
      const result = await handle.result();
      return {
        result,
        workflowId: handle.workflowId,
        events: await store.readEvents({ ...names, ...pick(turn) }),
        history: await temporalClient.workflow.getHandle(handle.workflowId, handle.runId).fetchHistory(),
      };
    },
    async close() {
      worker.shutdown();
      await running;
      await store.close();
      await native.close();
      await connection.close();
      await server.stop?.();
      await gemini.close();
      release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function pick({ app, userId, sessionId }: Partial<AgentTurnStart>) {
  return { ...(app ? { app } : {}), ...(userId ? { userId } : {}), ...(sessionId ? { sessionId } : {}) };
}
