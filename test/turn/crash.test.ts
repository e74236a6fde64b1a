import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { StoredEvent } from '../../src/store/store.ts';
import { type GeminiReply, hang, text } from '../../src/testing/gemini-reply.ts';
import {
  type GeminiScript,
  type GeminiStandIn,
  startGeminiStandIn,
} from '../../src/testing/gemini-stand-in.ts';
import { openTemporal, type TemporalTarget } from '../../worker/index.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import type { WorkerProcessOptions } from '../setup/worker-process.ts';

let server: TemporalTarget;
let connection: Connection;
const serverFolder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));

beforeAll(async () => {
  server = await openTemporal({ folder: serverFolder });
  connection = await Connection.connect(server.connectionOptions);
});

afterAll(async () => {
  await connection.close();
  await endServer(serverFolder);
  rmSync(serverFolder, { recursive: true, force: true });
});

/** A worker process with its store, which is killed; server, model and effects live outside of it. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
  readonly files = { effects: join(this.folder, 'effects'), gate: join(this.folder, 'gate') };
  readonly names = { app: 'crash', userId: 'ada', sessionId: this.folder };
  readonly turn = { ...this.names, message: 'go', messageId: 'm1' };
  readonly client = new HoldfastClient({ temporal: new Client({ connection }), taskQueue: this.folder });
  readonly gemini: GeminiStandIn;
  worker: WorkerProcess | undefined;

  private constructor(gemini: GeminiStandIn) {
    this.gemini = gemini;
    putStore(this.folder);
  }

  static async play(script: GeminiScript, scenes: (scene: Scene) => Promise<void>): Promise<void> {
    const scene = new Scene(await startGeminiStandIn({ script }));
    try {
      await scenes(scene);
    } finally {
      await scene.worker?.kill();
      await scene.gemini.close();
      rmSync(scene.folder, { recursive: true, force: true });
    }
  }

  async startWorker(hangAt?: WorkerProcessOptions['hang']): Promise<WorkerProcess> {
    const { folder, files, gemini } = this;
    const hang = hangAt === undefined ? {} : { hang: hangAt };
    const options = { address: server.address, taskQueue: folder, folder, files, ...hang };
    this.worker = await WorkerProcess.start(options, gemini.env);
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

  /** Read after the worker is gone: the store has one owner. */
  async transcript(): Promise<StoredEvent[]> {
    await this.worker?.kill();
    const store = await openStore({ folder: this.folder });
    try {
      return await store.readEvents(this.names);
    } finally {
      await store.close();
    }
  }
}

describe.concurrent('SIGKILL of the worker', () => {
  test('during a model call: the call is made again and the turn completes [turn.crash.model]', () =>
    Scene.play([hang(), text('done')], async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await scene.gemini.waitForRequests(1);
      await scene.worker?.kill();
      await scene.startWorker();
      expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(scene.gemini.requests).toHaveLength(2);
      const events = await scene.transcript();
      expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
        [1, 'message'],
        [2, 'model'],
      ]);
    }));

  test('during a model call of a turn that is then interrupted: it ends, and the message is answered [message.interrupt]', () =>
    Scene.play(hangUntil('now', text('second')), async (scene) => {
      await scene.startWorker();
      const first = await scene.client.sendMessage(scene.turn);
      await scene.gemini.waitForRequests(1);
      await scene.worker?.kill();
      await scene.startWorker();
      await scene.client.sendMessage({
        ...scene.names,
        message: 'now',
        messageId: 'm2',
        policy: 'interrupt',
      });
      expect(await first.result()).toMatchObject({
        status: 'interrupted',
        others: [{ status: 'completed' }],
      });
    }));

  test('during a model call of a turn that is then cancelled: it is cancelled [turn.cancel]', () =>
    Scene.play(
      () => hang(),
      async (scene) => {
        await scene.startWorker();
        const { workflowId } = await scene.client.sendMessage(scene.turn);
        await scene.gemini.waitForRequests(1);
        await scene.worker?.kill();
        await scene.startWorker();
        const handle = new Client({ connection }).workflow.getHandle(workflowId);
        await handle.cancel();
        await handle.result().catch(() => undefined);
        expect((await handle.describe()).status.name).toBe('CANCELLED');
      },
    ));

  test('during a tool: it runs again, under the same call key [turn.crash.tool]', () =>
    Scene.play(stepCalls([[{ name: 'hold' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => scene.effects().length === 1);
      await scene.worker?.kill();
      scene.openGate();
      await scene.startWorker();
      expect(await handle.result()).toMatchObject({ status: 'completed' });
      expect(new Set(scene.effects()).size).toBe(1);
      expect(scene.effects()).toHaveLength(2);
      expect(scene.gemini.requests).toHaveLength(2);
      const kinds = (await scene.transcript()).map(({ kind }) => kind);
      expect(kinds).toEqual(['message', 'model', 'responses', 'model']);
    }));

  test('during a tool that is not idempotent: it is not repeated, the model is told [turn.crash.unknown]', () =>
    Scene.play(stepCalls([[{ name: 'hold_not_idempotent' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => scene.effects().length === 1);
      await scene.worker?.kill();
      await scene.startWorker();
      await handle.result();
      expect(scene.effects()).toHaveLength(1);
      expect(scene.told(1)).toEqual({
        error: 'outcome unknown: this call may have run; check before repeating it',
      });
    }));

  test('behind a once: its effect is not repeated, its result is given back [turn.once]', () =>
    Scene.play(stepCalls([[{ name: 'once_only' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => scene.effects().some((line) => line.startsWith('after_once')));
      await scene.worker?.kill();
      scene.openGate();
      await scene.startWorker();
      await handle.result();
      expect(scene.effects().filter((line) => line.startsWith('once_only'))).toHaveLength(1);
      expect(scene.told(1)).toEqual({ charge: expect.stringMatching(/^charge for e-.{22}\.1\.0$/) });
    }));

  test.each([
    ['a recorded model step and its completion', 'after', 'commitStep', 1],
    ['the last step and its completion', 'after', 'commitStep', 3],
    ['two steps', 'before', 'openStep', 2],
    ['the opening of a step and its model call', 'after', 'openStep', 2],
    ["a tool's ledger write and its completion", 'after', 'settleCall', 1],
    ["a tool's start and its run", 'after', 'beginCall', 2],
  ] as const)(
    'between %s: nothing recorded is asked or run again [turn.crash.boundary]',
    (_name, when, method, call) =>
      Scene.play(stepCalls([[effect(1)], [effect(2)]]), async (scene) => {
        const doomed = await scene.startWorker({ when, method, call });
        const handle = await scene.client.sendMessage(scene.turn);
        await doomed.hanging;
        await doomed.kill();
        await scene.startWorker();
        expect(await handle.result()).toMatchObject({ status: 'completed', events: { from: 1, to: 6 } });
        expect(scene.effects().map((line) => line.split('.').slice(1).join('.'))).toEqual(['1.0', '2.0']);
        expect(scene.gemini.requests).toHaveLength(3);
        const events = await scene.transcript();
        expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
        const kinds = events.map(({ kind }) => kind);
        expect(kinds).toEqual(['message', 'model', 'responses', 'model', 'responses', 'model']);
        expect(new Set(events.map(({ event }) => event.id)).size).toBe(6);
      }),
  );
});

function effect(n: number) {
  return { name: 'effect', args: { n } };
}

class WorkerProcess {
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
    const script = fileURLToPath(new URL('../setup/worker-process.ts', import.meta.url));
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

/** However often an attempt is made before the message arrives, none of them is answered. */
function hangUntil(message: string, reply: GeminiReply): GeminiScript {
  return ({ contents }) => (contents?.at(-1)?.parts?.some(({ text }) => text === message) ? reply : hang());
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 20 }).toBe(true);
}
