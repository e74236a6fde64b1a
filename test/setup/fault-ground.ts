import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { putStore } from './made-store.ts';
import { SHORT_RUNS, TemporalServer } from './temporal-server.ts';

const CHANNEL = {
  // gRPC's default waits a second and more after the first refusal.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
};

/** A Temporal server that can be killed, and what outlives it and all workers: a store, a model, a client's connection. */
export interface FaultGround {
  /** Where all of it writes. */
  folder: string;
  server: TemporalServer;
  store: OpenedStore;
  gemini: MockGemini;
  connection: Connection;
  close(): Promise<void>;
}

export async function openFaultGround(script: GeminiScript): Promise<FaultGround> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-faults-'));
  putStore(folder);
  const [server, store, gemini] = await Promise.all([
    TemporalServer.start(folder, { config: SHORT_RUNS }),
    openStore({ folder }),
    startMockGemini({ script }),
  ]);
  const connection = await Connection.connect({
    interceptors: retriesUntilClosed(),
    address: server.address,
    channelArgs: CHANNEL,
  });
  return {
    folder,
    server,
    store,
    gemini,
    connection,
    async close() {
      await connection.close();
      await server.close();
      await store.close();
      await gemini.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
