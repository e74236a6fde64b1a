import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier } from '../setup/tier.ts';

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

const script = (name: string) => stepCalls([[{ name, args: {} }]]);

/** Where the worker is killed on a job's way, and how often the tool runs then. */
type Place = [when: 'before' | 'after', method: keyof Store, runs: number];

const FEW_PLACES: readonly Place[] = [
  ['before', 'parkJob', 2],
  ['after', 'endJob', 1],
];
const PLACES: readonly Place[] = [
  ...FEW_PLACES,
  ['before', 'openJob', 1],
  ['after', 'openJob', 1],
  ['after', 'parkJob', 1],
  ['after', 'awaitJob', 1],
  ['before', 'recordPoll', 1],
  ['before', 'endJob', 1],
  ['before', 'settleCall', 1],
  ['after', 'settleCall', 1],
];

describe('a worker that is killed', () => {
  test.each(inTier(FEW_PLACES, PLACES))(
    '%s %s leaves a job that has one outcome [job.poll] [job.park]',
    async (when, method, runs) => {
      await CrashScene.play(server, script('report'), async (scene) => {
        const worker = await scene.startWorker({ when, method, call: 1 });
        const turn = await scene.client.sendMessage(scene.turn);
        // Behind these polls have an outcome.
        if (['endJob', 'settleCall'].includes(method)) scene.openGate();
        await worker.hanging;
        await worker.kill();
        scene.openGate();
        await scene.startWorker();
        expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
        const reports = scene.effects().filter((line) => line.startsWith('report'));
        expect(new Set(reports).size).toBe(1);
        expect(reports).toHaveLength(runs);
        const [, id] = reports[0]?.split(' ') ?? [];
        expect(scene.told(1)).toEqual({ id });
        expect(scene.effects()).not.toContain(`cancel ${id}`);
      });
    },
    120_000,
  );

  test('in the middle of a job in process has another one go on from its last details [job.inProcess]', async () => {
    await CrashScene.play(server, script('build'), async (scene) => {
      const worker = await scene.startWorker();
      const turn = await scene.client.sendMessage(scene.turn);
      const handle = scene.temporal.workflow.getHandle(turn.workflowId);
      // The server has heard of them.
      await expect
        .poll(
          async () => {
            const { raw } = await handle.describe();
            const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
            return payload?.data ? Buffer.from(payload.data).toString() : '';
          },
          { timeout: 30_000 },
        )
        .toContain('10');
      await worker.kill();
      scene.openGate();
      await scene.startWorker();
      expect(await turn.result()).toMatchObject({ status: 'completed' });
      expect(scene.effects()).toEqual(['build from 0', 'build from 10']);
      expect(scene.told(1)).toEqual({ from: 10 });
    });
  }, 120_000);

  test('while a job waits hears, once it is back, what came meanwhile [job.callback]', async () => {
    await CrashScene.play(server, script('report'), async (scene) => {
      const worker = await scene.startWorker({ when: 'before', method: 'recordPoll', call: 1 });
      const turn = await scene.client.sendMessage(scene.turn);
      await worker.hanging;
      await worker.kill();
      const jobId = scene.effects()[0]?.split(' ')[1] ?? '';
      // As a gateway does that has another process: the row first, and nobody hears of it.
      await scene.withStore((store) =>
        store.endJob({
          jobId,
          status: 'completed',
          outcome: { response: { came: 'meanwhile' }, failed: false },
          by: 'callback',
        }),
      );
      await scene.startWorker();
      expect(await turn.result()).toMatchObject({ status: 'completed' });
      expect(scene.told(1)).toEqual({ came: 'meanwhile' });
    });
  }, 120_000);
});
