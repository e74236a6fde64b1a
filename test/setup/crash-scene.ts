import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { databaseWithStore, type OwnDatabase } from './own-database.ts';
import { ownNamespace, type TemporalPlace } from './own-namespace.ts';
import { contentsOf } from './scripts.ts';
import type { WorkerProcessOptions } from './worker-process.ts';

/** A namespace on the Temporal server, which outlives the workers of its scenes. */
export class CrashServer {
  readonly place: TemporalPlace;
  readonly connection: Connection;
  readonly temporal: Client;

  private constructor(place: TemporalPlace, connection: Connection) {
    this.place = place;
    this.connection = connection;
    this.temporal = new Client({ connection, namespace: place.namespace });
  }

  static async open(): Promise<CrashServer> {
    const place = await ownNamespace();
    return new CrashServer(
      place,
      await Connection.connect({ interceptors: retriesUntilClosed(), address: place.address }),
    );
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

/** Worker processes, which are killed; server, store, model and effects live outside of them. */
export class CrashScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
  readonly files = { effects: join(this.folder, 'effects'), gate: join(this.folder, 'gate') };
  /** Address of the bucket that keeps its large artifacts. */
  readonly bucket = pathToFileURL(join(this.folder, 'bucket')).href;
  readonly names = { app: 'crash', userId: 'ada', sessionId: this.folder };
  readonly turn = { ...this.names, message: 'go', messageId: 'm1' };
  readonly temporal: Client;
  readonly client: HoldfastClient;
  readonly gemini: MockGemini;
  worker: WorkerProcess | undefined;
  readonly #server: CrashServer;
  readonly #database: OwnDatabase;

  private constructor(server: CrashServer, database: OwnDatabase, gemini: MockGemini) {
    this.#server = server;
    this.#database = database;
    this.temporal = server.temporal;
    this.client = new HoldfastClient({ temporal: this.temporal, taskQueue: this.folder });
    this.gemini = gemini;
  }

  static async play(
    server: CrashServer,
    script: GeminiScript,
    scenes: (scene: CrashScene) => Promise<void>,
  ): Promise<void> {
    const [database, gemini] = await Promise.all([databaseWithStore(), startMockGemini({ script })]);
    const scene = new CrashScene(server, database, gemini);
    try {
      await scenes(scene);
    } finally {
      await scene.worker?.kill();
      await gemini.close();
      await database.drop();
      rmSync(scene.folder, { recursive: true, force: true });
    }
  }

  /** @param other another model than Gemini's, and variables of the process. */
  async startWorker(
    hangAt?: WorkerProcessOptions['hang'],
    {
      model,
      variables = {},
    }: { model?: WorkerProcessOptions['model']; variables?: Record<string, string> } = {},
  ): Promise<WorkerProcess> {
    const { folder, files, gemini } = this;
    const hang = hangAt === undefined ? {} : { hang: hangAt };
    const { url } = this.#database;
    const options = {
      ...{ place: this.#server.place, taskQueue: folder, url, files, ...hang },
      ...(model !== undefined && { model }),
    };
    const env = { ...gemini.env, ...variables, HOLDFAST_ARTIFACTS: this.bucket };
    this.worker = await WorkerProcess.start(options, env);
    return this.worker;
  }

  effects(): string[] {
    if (!existsSync(this.files.effects)) return [];
    // A file that was just made has no line yet.
    return readFileSync(this.files.effects, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  }

  openGate(): void {
    writeFileSync(this.files.gate, '');
  }

  /** What the model was told in the first part of its n-th request's last content. */
  told(request: number): unknown {
    return contentsOf(this.gemini.requests[request]).at(-1)?.parts?.[0]?.functionResponse?.response;
  }

  async transcript(): Promise<StoredEvent[]> {
    await this.worker?.kill();
    return await this.withStore((store) => store.sessions.readEvents(this.names));
  }

  /** Answers a request for input of the session. */
  async answer(requestId: string, response: unknown): Promise<void> {
    await this.withStore(async (store) => {
      const deciding = new HoldfastClient({ temporal: this.temporal, taskQueue: this.folder, store });
      await deciding.approvals.provideInput({ ...this.names, requestId }, { response });
    });
  }

  async withStore<T>(work: (store: PostgresStore) => Promise<T>): Promise<T> {
    const store = await openStore({ url: this.#database.url });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}

export class WorkerProcess {
  readonly hanging: Promise<void>;
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;

  private constructor(process: ChildProcess, lines: AsyncIterable<string>, polling: () => void) {
    this.#process = process;
    this.#exited = new Promise((resolve) => process.once('exit', () => resolve()));
    this.hanging = (async () => {
      for await (const line of lines) {
        if (line === 'polling') polling();
        if (line === 'hanging') return;
      }
    })();
  }

  static async start(options: WorkerProcessOptions, env: Record<string, string>): Promise<WorkerProcess> {
    const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', script, JSON.stringify(options)],
      {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    return await new Promise((resolve, reject) => {
      const started: WorkerProcess = new WorkerProcess(child, createInterface({ input: child.stdout }), () =>
        resolve(started),
      );
      child.once('exit', (code) => reject(new Error(`the worker process exited with ${code}`)));
    });
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }
}
