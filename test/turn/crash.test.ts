import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { openStore } from '../../src/store/open-store.ts';
import { hang, text } from '../../src/testing/gemini-reply.ts';
import { type GeminiStandIn, startGeminiStandIn } from '../../src/testing/gemini-stand-in.ts';
import { openTemporal, type TemporalTarget } from '../../worker/index.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import type { WorkerProcessOptions } from '../setup/worker-process.ts';

/** The worker, its store with it, is killed by SIGKILL; server, model and effects live outside. */
describe('SIGKILL of the worker', () => {
  const serverFolder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
  let server: TemporalTarget;
  let gemini: GeminiStandIn;
  let connection: Connection;
  let client: HoldfastClient;
  let folder: string;
  let worker: WorkerProcess | undefined;

  beforeAll(async () => {
    server = await openTemporal({ folder: serverFolder });
    gemini = await startGeminiStandIn({ script: [] });
    connection = await Connection.connect(server.connectionOptions);
    client = new HoldfastClient({ temporal: new Client({ connection }) });
  });

  afterAll(async () => {
    await connection.close();
    await gemini.close();
    await server.stop?.();
    rmSync(serverFolder, { recursive: true, force: true });
  });

  afterEach(async () => {
    await worker?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startWorker(hangAt?: WorkerProcessOptions['hang']): Promise<WorkerProcess> {
    worker = await WorkerProcess.start(
      { address: server.address, folder, files: files(), ...(hangAt === undefined ? {} : { hang: hangAt }) },
      gemini.env,
    );
    return worker;
  }

  function files() {
    return { effects: join(folder, 'effects'), gate: join(folder, 'gate') };
  }

  function effects(): string[] {
    return existsSync(files().effects) ? readFileSync(files().effects, 'utf8').trim().split('\n') : [];
  }

  function begin(script: Parameters<GeminiStandIn['reset']>[0]) {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
    gemini.reset(script);
    const names = { app: 'crash', userId: 'ada', sessionId: folder };
    return { names, turn: { ...names, message: 'go', messageId: 'm1' } };
  }

  /** The turn's transcript, read after its worker is gone. */
  async function transcript(names: ReturnType<typeof begin>['names']) {
    await worker?.kill();
    const store = await openStore({ folder });
    try {
      return await store.readEvents(names);
    } finally {
      await store.close();
    }
  }

  test('during a model call: the call is made again and the turn completes [turn.crash.model]', async () => {
    const { names, turn } = begin([hang(), text('done')]);
    await startWorker();
    const handle = await client.startTurn(turn);
    await gemini.waitForRequests(1);
    await worker?.kill();
    await startWorker();
    expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(gemini.requests).toHaveLength(2);
    const events = await transcript(names);
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
    ]);
  });

  test('during a tool: it runs again, under the same call key [turn.crash.tool]', async () => {
    const { names, turn } = begin(stepCalls([[{ name: 'hold' }]]));
    await startWorker();
    const handle = await client.startTurn(turn);
    await until(() => effects().length === 1);
    await worker?.kill();
    writeFileSync(files().gate, '');
    await startWorker();
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(new Set(effects()).size).toBe(1);
    expect(effects()).toHaveLength(2);
    expect(gemini.requests).toHaveLength(2);
    expect((await transcript(names)).map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'responses',
      'model',
    ]);
  });

  test('during a tool that is not idempotent: it is not repeated, the model is told [turn.crash.unknown]', async () => {
    const { turn } = begin(stepCalls([[{ name: 'hold_not_idempotent' }]]));
    await startWorker();
    const handle = await client.startTurn(turn);
    await until(() => effects().length === 1);
    await worker?.kill();
    await startWorker();
    await handle.result();
    expect(effects()).toHaveLength(1);
    const told = contentsOf(gemini.requests[1]).at(-1)?.parts?.[0]?.functionResponse?.response;
    expect(told).toEqual({ error: 'outcome unknown: this call may have run; check before repeating it' });
  });

  test('behind a once: its effect is not repeated, its result is given back [turn.once]', async () => {
    const { turn } = begin(stepCalls([[{ name: 'once_only' }]]));
    await startWorker();
    const handle = await client.startTurn(turn);
    await until(() => effects().some((line) => line.startsWith('after_once')));
    await worker?.kill();
    writeFileSync(files().gate, '');
    await startWorker();
    await handle.result();
    expect(effects().filter((line) => line.startsWith('once_only'))).toHaveLength(1);
    const told = contentsOf(gemini.requests[1]).at(-1)?.parts?.[0]?.functionResponse?.response;
    expect(told).toEqual({ charge: expect.stringMatching(/^charge for e-.{22}\.1\.0$/) });
  });

  const twoSteps = stepCalls([[{ name: 'effect', args: { n: 1 } }], [{ name: 'effect', args: { n: 2 } }]]);

  test.each([
    ['a recorded model step and its completion', 'after', 'commitStep', 1],
    ['the last step and its completion', 'after', 'commitStep', 3],
    ['two steps', 'before', 'openStep', 2],
    ['the opening of a step and its model call', 'after', 'openStep', 2],
    ["a tool's ledger write and its completion", 'after', 'settleCall', 1],
    ["a tool's start and its run", 'after', 'beginCall', 2],
  ] as const)(
    'between %s: nothing recorded is asked or run again [turn.crash.boundary]',
    async (_name, when, method, call) => {
      const { names, turn } = begin(twoSteps);
      const doomed = await startWorker({ when, method, call });
      const handle = await client.startTurn(turn);
      await doomed.hanging;
      await doomed.kill();
      await startWorker();
      expect(await handle.result()).toMatchObject({ status: 'completed', events: { from: 1, to: 6 } });
      expect(effects().map((line) => line.split('.').slice(1).join('.'))).toEqual(['1.0', '2.0']);
      expect(gemini.requests).toHaveLength(3);
      const events = await transcript(names);
      expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(events.map(({ kind }) => kind)).toEqual([
        'message',
        'model',
        'responses',
        'model',
        'responses',
        'model',
      ]);
      expect(new Set(events.map(({ event }) => event.id)).size).toBe(6);
    },
  );
});

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

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 30_000, interval: 20 }).toBe(true);
}
