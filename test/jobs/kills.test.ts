import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import type { StoreOperation } from '../setup/wrapped-store.ts';

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

const script = (name: string) => stepCalls([[{ name, args: {} }]]);

/** Where the worker is killed on a job's way, and how often the tool runs then. */
type Place = [when: 'before' | 'after', operation: StoreOperation, runs: number];

const PLACES: readonly Place[] = [
  ['before', 'jobs.park', 2],
  ['after', 'jobs.end', 1],
  ['before', 'jobs.open', 1],
  ['after', 'jobs.open', 1],
  ['after', 'jobs.park', 1],
  ['after', 'jobs.await', 1],
  ['before', 'jobs.recordPoll', 1],
  ['before', 'jobs.end', 1],
  ['before', 'turns.settleCall', 1],
  ['after', 'turns.settleCall', 1],
];

describe('a worker that is killed', () => {
  test.each(PLACES.slice(0, inTier(1, PLACES.length)))(
    '%s %s leaves a job that has one outcome [job.poll] [job.park]',
    async (when, operation, runs) => {
      await CrashScene.play(server, script('report'), async (scene) => {
        const worker = await scene.startWorker({ when, operation, call: 1 });
        const turn = await scene.client.sendMessage(scene.turn);
        // Behind these polls have an outcome.
        if (['jobs.end', 'turns.settleCall'].includes(operation)) scene.openGate();
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

  if (isDeep) {
    test('in the middle of a job in process has another one go on from its last details [job.inProcess]', async () => {
      await CrashScene.play(server, script('build'), async (scene) => {
        const worker = await scene.startWorker();
        const turn = await scene.client.sendMessage(scene.turn);
        const handle = scene.temporal.workflow.getHandle(turn.workflowId);
        // The server has heard of them.
        await expect
          .poll(async () => {
            const { raw } = await handle.describe();
            const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
            return payload?.data ? Buffer.from(payload.data).toString() : '';
          })
          .toContain('10');
        await worker.kill();
        scene.openGate();
        await scene.startWorker();
        expect(await turn.result()).toMatchObject({ status: 'completed' });
        expect(scene.effects()).toEqual(['build from 0', 'build from 10']);
        expect(scene.told(1)).toEqual({ from: 10 });
      });
    });
  }

  if (isDeep) {
    test('while a job waits hears, once it is back, what came meanwhile [job.callback]', async () => {
      await CrashScene.play(server, script('report'), async (scene) => {
        const worker = await scene.startWorker({ when: 'before', operation: 'jobs.recordPoll', call: 1 });
        const turn = await scene.client.sendMessage(scene.turn);
        await worker.hanging;
        await worker.kill();
        const jobId = scene.effects()[0]?.split(' ')[1] ?? '';
        // As a gateway does that has another process: the row first, and nobody hears of it.
        await scene.withStore((store) =>
          store.jobs.end({
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
    });
  }
});
