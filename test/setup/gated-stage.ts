import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OpenedStore } from '../../src/store/open-store.ts';
import type { GeminiScript, MockGemini } from '../../src/testing/mock-gemini.ts';
import { Doom, type Dooms } from './doom.ts';
import { type FaultGround, openFaultGround } from './fault-ground.ts';
import { APPROVERS } from './gated-apps.ts';
import { GatedEffects } from './gated-effects.ts';
import type { GatedWorkerOptions } from './gated-worker-process.ts';
import { SupervisedWorker } from './supervised-worker.ts';
import type { TemporalServer } from './temporal-server.ts';

const PROGRAM = fileURLToPath(new URL('gated-worker-process.ts', import.meta.url));

/**
 * A Temporal server and worker processes that are killed; store, model, clients and effects live outside of them. The workers
 * join the store by its socket.
 */
export class GatedStage {
  readonly worker: SupervisedWorker<GatedWorkerOptions>;
  readonly server: TemporalServer;
  readonly store: OpenedStore;
  readonly gemini: MockGemini;
  readonly temporal: Client;
  readonly client: HoldfastClient;
  readonly effects: GatedEffects;
  readonly doom: Doom;
  /** Of those who may decide where only some may. */
  readonly keys: ReadonlyMap<string, ApproverKey>;
  /** Where its processes write. */
  readonly folder: string;
  readonly #ground: FaultGround;

  private constructor(
    ground: FaultGround,
    keys: ReadonlyMap<string, ApproverKey>,
    issuers: Issuer[],
    dooms: Dooms,
  ) {
    const { folder, server, store, gemini, connection } = ground;
    this.folder = folder;
    this.#ground = ground;
    this.server = server;
    this.store = store;
    this.gemini = gemini;
    this.keys = keys;
    this.temporal = new Client({ connection });
    this.client = new HoldfastClient({ temporal: this.temporal, store, searchAttributes: true });
    this.effects = new GatedEffects(folder);
    this.doom = new Doom(folder, dooms);
    const { address } = server;
    this.worker = new SupervisedWorker(
      PROGRAM,
      { address, socket: store.socket ?? '', folder, dooms, issuers },
      gemini.env,
      (notice) => store.live.hear(notice),
    );
  }

  static async open(script: GeminiScript, dooms: Dooms): Promise<GatedStage> {
    const made = await Promise.all(APPROVERS.map(createApproverKey));
    const keys = new Map(made.map(({ key }) => [key.approver, key]));
    return new GatedStage(
      await openFaultGround(script),
      keys,
      made.map(({ issuer }) => issuer),
      dooms,
    );
  }

  /** Kills the Temporal server, and starts it again with what it has kept. */
  async restartServer(): Promise<void> {
    await this.server.kill();
    await this.server.start();
  }

  async close(): Promise<void> {
    await this.worker.stop();
    await this.#ground.close();
  }
}
