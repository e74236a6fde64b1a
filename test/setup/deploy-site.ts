import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker, openTemporal, type TemporalTarget } from '../../worker/index.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { endServer } from './end-server.ts';
import { putStore } from './made-store.ts';
import { inStepMode } from './step-mode.ts';

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A server and a store, which workers come to and go from. */
export class DeploySite {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-deploys-'));
  #opened:
    | { temporal: TemporalTarget; store: Store; native: NativeConnection; connection: Connection }
    | undefined;
  #workers: { worker: Worker; running: Promise<void> }[] = [];

  get #open() {
    if (this.#opened === undefined) throw new Error('the site is closed');
    return this.#opened;
  }

  get store(): Store {
    return this.#open.store;
  }

  get temporal(): Client {
    const { connection, temporal } = this.#open;
    return new Client({ connection, namespace: temporal.namespace });
  }

  get client(): HoldfastClient {
    return new HoldfastClient({ temporal: this.temporal, store: this.store });
  }

  constructor() {
    putStore(this.folder);
  }

  async open(): Promise<void> {
    const temporal = await openTemporal({ folder: this.folder });
    this.#opened = {
      temporal,
      store: await openStore({ folder: this.folder }),
      native: await NativeConnection.connect(temporal.connectionOptions),
      connection: await Connection.connect({
        ...temporal.connectionOptions,
        interceptors: retriesUntilClosed(),
      }),
    };
  }

  async deploy(...agents: LlmAgent[]): Promise<void> {
    const { store, native: connection } = this.#open;
    inStepMode(agents);
    const worker = await createWorker({ agents, store, connection, shutdownGraceTime: 0, logger: SILENT });
    this.#workers.push({ worker, running: worker.run() });
  }

  async undeploy(): Promise<void> {
    for (const { worker, running } of this.#workers.splice(0)) {
      worker.shutdown();
      await running;
    }
  }

  async #disconnect(): Promise<void> {
    await this.undeploy();
    const { store, native, connection } = this.#open;
    await store.close();
    await native.close();
    await connection.close();
  }

  async shutDown(): Promise<void> {
    await this.#disconnect();
    await this.#open.temporal.stop?.();
  }

  async close(): Promise<void> {
    await this.#disconnect();
    await endServer(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
