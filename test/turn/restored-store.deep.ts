import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import { Gemini } from '../../src/models/gemini.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { hang } from '../../src/testing/gemini-reply.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { createWorker } from '../../worker/index.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { putStore } from '../setup/made-store.ts';
import { ownNamespace } from '../setup/own-namespace.ts';
import { quickenRetries } from '../setup/quicken-retries.ts';
import { stepCalls } from '../setup/scripts.ts';
import { until } from '../setup/until.ts';

const STEPS = 3;
const silent = () => undefined;

let connection: Connection;
let native: NativeConnection;
const { address, namespace } = await ownNamespace();

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
  connection = await Connection.connect({ interceptors: retriesUntilClosed(), address });
  native = await NativeConnection.connect({ address });
});

afterAll(async () => {
  await native.close();
  await connection.close();
});

type Place = { at: 'model' | 'call'; step: number };

/** A worker and its embedded store, whose files are copied, taken away and put back while both are down. */
class Scene {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-restored-'));
  readonly names = { app: 'restored', userId: 'ada', sessionId: this.#folder };
  readonly #temporal = new Client({ connection, namespace });
  readonly #client = new HoldfastClient({ temporal: this.#temporal, taskQueue: this.#folder });
  readonly gemini: MockGemini;
  /** Call keys of the runs of `work`, in order. */
  readonly effects: string[] = [];
  #held: { place: Place; reached: () => void } | undefined;
  #running: { store: OpenedStore; worker: Worker; ended: Promise<void> } | undefined;

  private constructor(gemini: MockGemini) {
    this.gemini = gemini;
    putStore(this.#path('store'));
    const steps = Array.from({ length: STEPS }, (_, step) => [{ name: 'work', args: { step: step + 1 } }]);
    const model = stepCalls(steps) as Extract<GeminiScript, (...args: never[]) => unknown>;
    gemini.reset((request, info) => {
      const step = (request.contents ?? []).filter(({ role }) => role === 'user').length;
      return this.#isHeld({ at: 'model', step }) ? hang() : model(request, info);
    });
  }

  static async play(scenes: (scene: Scene) => Promise<void>): Promise<void> {
    const gemini = await startMockGemini({ script: [] });
    const scene = new Scene(gemini);
    try {
      await scenes(scene);
    } finally {
      await scene.stop();
      await gemini.close();
      rmSync(scene.#folder, { recursive: true, force: true });
    }
  }

  get store(): OpenedStore {
    if (this.#running === undefined) throw new Error('nothing runs');
    return this.#running.store;
  }

  async start(): Promise<void> {
    const store = await openStore({ folder: this.#path('store') });
    const worker = await createWorker({
      agents: [this.#agent()],
      store,
      connection: native,
      namespace,
      taskQueue: this.#folder,
      shutdownGraceTime: 0,
      logger: { debug: silent, info: silent, warn: silent, error: silent },
    });
    this.#running = { store, worker, ended: worker.run() };
  }

  async stop(): Promise<void> {
    if (this.#running === undefined) return;
    const { store, worker, ended } = this.#running;
    this.#running = undefined;
    worker.shutdown();
    await ended;
    await store.close();
  }

  /** While it is stopped. */
  backUp(): void {
    cpSync(this.#path('store'), this.#path('backup'), { recursive: true });
  }

  /** Puts the backup in the place of the store. */
  restore(): void {
    renameSync(this.#path('store'), this.#path('newest'));
    renameSync(this.#path('backup'), this.#path('store'));
  }

  /** Puts the store back that {@link restore} took away. */
  putBack(): void {
    rmSync(this.#path('store'), { recursive: true });
    renameSync(this.#path('newest'), this.#path('store'));
  }

  async send(messageId: string): Promise<TurnHandle> {
    return await this.#client.sendMessage({ ...this.names, message: 'go', messageId });
  }

  /** Holds the turn at a place until the worker is stopped; resolves when it has come there. */
  holdAt(place: Place): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = { place, reached: resolve };
    return promise;
  }

  letGo(): void {
    this.#held = undefined;
  }

  /** What an operator sees of the one activity that is pending. */
  async pending({ workflowId, runId }: TurnHandle) {
    const { raw, status } = await this.#temporal.workflow.getHandle(workflowId, runId).describe();
    const [activity] = raw.pendingActivities ?? [];
    const failure = activity?.lastFailure?.applicationFailureInfo;
    return { status: status.name, type: failure?.type, attempt: activity?.attempt ?? 0 };
  }

  async quickenRetries({ workflowId, runId }: TurnHandle): Promise<void> {
    const { raw } = await this.#temporal.workflow.getHandle(workflowId, runId).describe();
    const [activity] = raw.pendingActivities ?? [];
    await quickenRetries(this.#temporal, workflowId, activity?.activityType?.name ?? '');
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #isHeld({ at, step }: Place): boolean {
    const { place, reached } = this.#held ?? {};
    if (place?.at !== at || place.step !== step) return false;
    reached?.();
    return true;
  }

  #agent(): LlmAgent {
    const { gemini, effects } = this;
    const work = tool({
      name: 'work',
      description: 'has its effect, where it is not held before',
      parameters: z.object({ step: z.number() }),
      execute: async ({ step }, context) => {
        if (this.#isHeld({ at: 'call', step })) {
          await new Promise((_resolve, reject) =>
            context.abortSignal?.addEventListener('abort', () => reject(new Error('aborted'))),
          );
        }
        effects.push(context.callKey);
        return { step };
      },
    });
    const model = new Gemini({
      model: 'gemini-2.5-flash',
      apiKey: 'test',
      httpOptions: { baseUrl: gemini.url },
    });
    return new LlmAgent({ name: 'support', model, tools: [work] });
  }
}

/** With the backup in place nothing is asked, run or written; the right data is back when this returns. */
async function expectStopped(scene: Scene, turn: TurnHandle): Promise<void> {
  const { effects, gemini } = scene;
  const before = { effects: [...effects], requests: gemini.requests.length };
  scene.restore();
  scene.letGo();
  await scene.start();
  const old = await scene.store.sessions.readEvents(scene.names);
  const stopped = { status: 'RUNNING', type: 'HOLDFAST_STORE_BEHIND_HISTORY' };
  await until(async () => expect(await scene.pending(turn)).toMatchObject(stopped));
  await scene.quickenRetries(turn);
  const { attempt } = await scene.pending(turn);
  await until(async () => expect((await scene.pending(turn)).attempt).toBeGreaterThan(attempt));
  expect(await scene.pending(turn)).toMatchObject(stopped);
  expect({ effects, requests: gemini.requests.length }).toEqual(before);
  expect(await scene.store.sessions.readEvents(scene.names)).toEqual(old);
  await scene.stop();
  scene.putBack();
}

describe.concurrent('a store that was restored from an older backup while a turn is under way', () => {
  const places: { backup: string; at: Place['at']; step: number }[] = [
    { backup: 'before the session', at: 'call', step: STEPS },
    { backup: 'before the session', at: 'model', step: STEPS },
    { backup: 'of the first call', at: 'call', step: STEPS },
    { backup: 'of the first call', at: 'model', step: STEPS },
    { backup: 'of the first call', at: 'model', step: 2 },
  ];
  test.each(places)(
    '$backup, during the $at of step $step: the turn stops visibly, and completes when the right data is back [store.restored]',
    ({ backup, at, step }) =>
      Scene.play(async (scene) => {
        await scene.start();
        if (backup === 'before the session') {
          await scene.stop();
          scene.backUp();
          await scene.start();
        }
        const inFirst = scene.holdAt({ at: 'call', step: 1 });
        const turn = await scene.send('m1');
        await inFirst;
        await scene.stop();
        if (backup !== 'before the session') scene.backUp();

        const later = scene.holdAt({ at, step });
        await scene.start();
        await later;
        await scene.stop();

        await expectStopped(scene, turn);

        await scene.start();
        expect(await turn.result()).toMatchObject({
          status: 'completed',
          text: 'done',
          events: { from: 1, to: 8 },
        });
        const events = await scene.store.sessions.readEvents(scene.names);
        expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
        const { effects, gemini } = scene;
        expect(effects.map((key) => key.split('.').slice(1).join('.'))).toEqual(['1.0', '2.0', '3.0']);
        expect(gemini.refusals).toEqual([]);
      }),
  );

  test('before the end of the turn behind which a queued message is answered: that one stops as well [store.restored]', () =>
    Scene.play(async (scene) => {
      await scene.start();
      const inFirst = scene.holdAt({ at: 'call', step: 1 });
      const turn = await scene.send('m1');
      await inFirst;
      await scene.send('m2');
      await until(async () =>
        expect(await scene.store.messages.readInbox(scene.names)).toMatchObject([{ messageId: 'm2' }]),
      );
      await scene.stop();
      scene.backUp();

      const inSecond = scene.holdAt({ at: 'model', step: STEPS + 2 });
      await scene.start();
      await inSecond;
      await scene.stop();
      await expectStopped(scene, turn);

      await scene.start();
      expect(await turn.result()).toMatchObject({ status: 'completed', others: [{ status: 'completed' }] });
      const events = await scene.store.sessions.readEvents(scene.names);
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
      expect(scene.effects).toHaveLength(2 * STEPS);
      expect(scene.gemini.refusals).toEqual([]);
    }));
});
