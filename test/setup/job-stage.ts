import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { localAccess, serveGateway } from '../../src/gateway/index.ts';
import type { OpenedStore } from '../../src/store/open-store.ts';
import type { GeminiScript, MockGemini } from '../../src/testing/mock-gemini.ts';
import { Doom, type Dooms } from './doom.ts';
import { type FaultGround, openFaultGround } from './fault-ground.ts';
import { type Deployment, JOB_APP, type JobMoment } from './job-apps.ts';
import { JobService } from './job-service.ts';
import type { JobWorkerOptions } from './job-worker-process.ts';
import { SupervisedWorker } from './supervised-worker.ts';

const PROGRAM = fileURLToPath(new URL('job-worker-process.ts', import.meta.url));

const silent = () => undefined;

type Served = Awaited<ReturnType<typeof serveGateway>>;

/**
 * A Temporal server and worker processes that are killed; the service of the jobs, the gateway that it calls back, store, model and
 * clients live outside of them.
 */
export class JobStage {
  readonly worker: SupervisedWorker<JobWorkerOptions>;
  readonly store: OpenedStore;
  readonly gemini: MockGemini;
  readonly temporal: Client;
  readonly client: HoldfastClient;
  readonly service: JobService;
  readonly doom: Doom<JobMoment>;
  /** Where its processes write. */
  readonly folder: string;
  readonly #ground: FaultGround;
  readonly #gateway: Served;
  readonly #options: JobWorkerOptions;

  private constructor(
    ground: FaultGround,
    client: HoldfastClient,
    gateway: Served,
    options: JobWorkerOptions,
  ) {
    const { folder, store, gemini, connection } = ground;
    this.folder = folder;
    this.store = store;
    this.gemini = gemini;
    this.temporal = new Client({ connection });
    this.client = client;
    this.service = new JobService(folder);
    this.doom = new Doom(folder, options.dooms);
    this.#ground = ground;
    this.#gateway = gateway;
    this.#options = options;
    this.worker = new SupervisedWorker(PROGRAM, options, gemini.env, (notice) => store.live.hear(notice));
  }

  static async open(script: GeminiScript, dooms: Dooms<JobMoment> = {}): Promise<JobStage> {
    const ground = await openFaultGround(script);
    const { folder, server, store, connection } = ground;
    const credentialKeys = { stage: randomBytes(32).toString('base64') };
    const temporal = new Client({ connection });
    const client = new HoldfastClient({ temporal, store, searchAttributes: true, credentialKeys });
    const gateway = await serveGateway({
      gateway: {
        client,
        about: () => ({
          v: 1,
          version: '0',
          namespace: 'default',
          taskQueue: 'holdfast',
          store: 'embedded',
          apps: [JOB_APP],
          agents: ['desk'],
        }),
        ready: async () => ({ store: true }),
        access: localAccess({ token: randomBytes(16).toString('hex') }),
        logger: { debug: silent, info: silent, warn: silent, error: silent },
      },
    });
    const { address } = server;
    const socket = store.socket ?? '';
    const { url: publicUrl } = gateway;
    return new JobStage(ground, client, gateway, {
      ...{ address, socket, folder, credentialKeys, publicUrl, dooms },
    });
  }

  /** Kills the Temporal server, and starts it again with what it has kept. */
  async restartServer(): Promise<void> {
    await this.killServer();
    await this.startServer();
  }

  async killServer(): Promise<void> {
    await this.#ground.server.kill();
  }

  async startServer(): Promise<void> {
    await this.#ground.server.start();
  }

  /** Ends the worker, and has another release take its place. */
  async deploy(deployment: Deployment): Promise<void> {
    await this.worker.stop();
    this.worker.options = { ...this.#options, deployment };
    await this.worker.start();
  }

  async close(): Promise<void> {
    await this.worker.stop();
    await this.#gateway.close();
    await this.#ground.close();
  }
}
