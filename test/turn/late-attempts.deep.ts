import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, type TestContext, test } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { CrashServer } from '../setup/crash-scene.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import type { StalledWorkerOptions } from '../setup/stalled-worker-process.ts';
import { until } from '../setup/until.ts';

const program = fileURLToPath(new URL('../setup/stalled-worker-process.ts', import.meta.url));
let server: CrashServer;
let url: string;
let store: OpenedStore;

beforeAll(async () => {
  server = await CrashServer.open();
  ({ url } = await databaseWithStore());
  store = await openStore({ url });
});
afterAll(async () => {
  await store.close();
  await server.close();
});

class Scene {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-late-'));
  readonly #taskQueue = randomUUID();
  readonly names = { app: 'late', userId: 'ada', sessionId: randomUUID() };
  readonly client: HoldfastClient;
  readonly #finally: TestContext['onTestFinished'];

  constructor({ onTestFinished }: TestContext) {
    this.#finally = onTestFinished;
    const temporal = server.temporal;
    this.client = new HoldfastClient({ temporal, store, taskQueue: this.#taskQueue });
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  gate(name: string): string {
    return join(this.#folder, name);
  }

  open(name: string): void {
    writeFileSync(this.gate(name), '');
  }

  /** What the workers did, in order. */
  get happened(): string[] {
    const path = join(this.#folder, 'happened');
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  }

  count(what: string): number {
    return this.happened.filter((line) => line.includes(what)).length;
  }

  async worker(
    worker: string,
    gates: Pick<StalledWorkerOptions, 'before' | 'within'> = {},
  ): Promise<ChildProcess> {
    const options: StalledWorkerOptions = {
      ...{ place: server.place, taskQueue: this.#taskQueue, url, worker, ...gates },
      happened: join(this.#folder, 'happened'),
    };
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, JSON.stringify(options)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#finally(async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    });
    await once(child.stdout, 'data');
    return child;
  }
}

test.concurrent('a worker that stood still does not pay what another one has paid [turn.late]', async (context) => {
  const { expect } = context;
  const scene = new Scene(context);
  const stalled = await scene.worker('first', { before: scene.gate('first') });
  const turn = await scene.client.sendMessage({ ...scene.names, message: 'pay' });
  await until(() => expect(scene.count('first begins 1')).toBe(1));
  stalled.kill('SIGSTOP');
  await scene.worker('second');
  const result = { status: 'completed', text: JSON.stringify({ paid: 'second' }) };
  expect(await turn.result()).toMatchObject(result);
  scene.open('first');
  stalled.kill('SIGCONT');
  await until(() => expect(scene.count('first is refused')).toBeGreaterThan(0));
  expect(scene.happened.filter((line) => line.includes('refused'))[0]).toMatch(
    /has gone on without this attempt$/,
  );
  expect(scene.count('pays')).toBe(1);
  expect(await turn.result()).toMatchObject(result);
});

test.concurrent('nor what another one is paying, and its own answer counts for nothing [turn.late]', async (context) => {
  const { expect } = context;
  const scene = new Scene(context);
  const stalled = await scene.worker('first', { before: scene.gate('first') });
  const turn = await scene.client.sendMessage({ ...scene.names, message: 'pay' });
  await until(() => expect(scene.count('first begins 1')).toBe(1));
  stalled.kill('SIGSTOP');
  await scene.worker('second', { within: scene.gate('second') });
  await until(() => expect(scene.count('second pays')).toBe(1));
  scene.open('first');
  stalled.kill('SIGCONT');
  await until(() => expect(scene.count('first is refused')).toBeGreaterThan(0));
  scene.open('second');
  expect(await turn.result()).toMatchObject({
    status: 'completed',
    text: JSON.stringify({ paid: 'second' }),
  });
  expect(scene.count('pays')).toBe(1);
});
