import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import {
  type GeminiScript,
  type GeminiStandIn,
  startGeminiStandIn,
} from '../../src/testing/gemini-stand-in.ts';
import { Doom, type Dooms } from './doom.ts';
import { APPROVERS } from './gated-apps.ts';
import { GatedEffects } from './gated-effects.ts';
import { GatedWorker } from './gated-worker.ts';
import { putStore } from './made-store.ts';
import { SoakTemporal } from './soak-temporal.ts';

const CHANNEL = {
  // gRPC's default waits a second and more after the first refusal.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
};

/**
 * A Temporal server and worker processes that are killed; store, model, clients and effects live outside of them. The workers
 * join the store by its socket.
 */
export class GatedStage {
  readonly worker: GatedWorker;
  readonly server: SoakTemporal;
  readonly store: OpenedStore;
  readonly gemini: GeminiStandIn;
  readonly temporal: Client;
  readonly client: HoldfastClient;
  readonly effects: GatedEffects;
  readonly doom: Doom;
  /** Of those who may decide where only some may. */
  readonly keys: ReadonlyMap<string, ApproverKey>;
  /** Where its processes write. */
  readonly folder: string;
  readonly #connection: Connection;

  private constructor(parts: {
    folder: string;
    server: SoakTemporal;
    store: OpenedStore;
    gemini: GeminiStandIn;
    connection: Connection;
    keys: ReadonlyMap<string, ApproverKey>;
    issuers: Issuer[];
    dooms: Dooms;
  }) {
    const { folder, server, store, gemini, connection, keys, issuers, dooms } = parts;
    this.folder = folder;
    this.#connection = connection;
    this.server = server;
    this.store = store;
    this.gemini = gemini;
    this.keys = keys;
    this.temporal = new Client({ connection });
    this.client = new HoldfastClient({ temporal: this.temporal, store, searchAttributes: true });
    this.effects = new GatedEffects(folder);
    this.doom = new Doom(folder, dooms);
    const { address } = server;
    this.worker = new GatedWorker(
      { address, socket: store.socket ?? '', folder, dooms, issuers },
      gemini.env,
      (notice) => store.hear(notice),
    );
  }

  static async open(script: GeminiScript, dooms: Dooms): Promise<GatedStage> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-gated-'));
    putStore(folder);
    const made = await Promise.all(APPROVERS.map(createApproverKey));
    const [server, store, gemini] = await Promise.all([
      SoakTemporal.start(folder),
      openStore({ folder }),
      startGeminiStandIn({ script }),
    ]);
    return new GatedStage({
      folder,
      server,
      store,
      gemini,
      connection: await Connection.connect({ address: server.address, channelArgs: CHANNEL }),
      keys: new Map(made.map(({ key }) => [key.approver, key])),
      issuers: made.map(({ issuer }) => issuer),
      dooms,
    });
  }

  /** Kills the Temporal server, and starts it again with what it has kept. */
  async restartServer(): Promise<void> {
    await this.server.kill();
    await this.server.start();
  }

  async close(): Promise<void> {
    await this.worker.stop();
    await this.#connection.close();
    await this.server.close();
    await this.store.close();
    await this.gemini.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
