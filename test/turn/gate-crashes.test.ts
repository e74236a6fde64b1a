import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { WaitingRequest } from '../../src/protocol/gate.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';

const UNKNOWN = { error: 'outcome unknown: this call may have run; check before repeating it' };

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

const play = (script: GeminiScript, scenes: (scene: CrashScene) => Promise<void>) =>
  CrashScene.play(server, script, scenes);
const asks = (name: string, args = {}) => stepCalls([[{ name, args }]]);

async function waiting(scene: CrashScene, { workflowId }: TurnHandle): Promise<WaitingRequest> {
  return await until(async () => {
    const status = await scene.temporal.workflow.getHandle(workflowId).query<TurnStatus>('status');
    const [request, ...others] = status.waiting;
    if (request === undefined || others.length > 0)
      throw new Error('it waits for no request, or for several');
    return request;
  });
}

async function approve(scene: CrashScene, { workflowId }: TurnHandle, confirmed = true): Promise<void> {
  await scene.temporal.workflow.getHandle(workflowId).signal('confirm', { confirmed });
}

const effects = (scene: CrashScene, count: number) =>
  until(() => expect(scene.effects()).toHaveLength(count));

describe.concurrent('SIGKILL of the worker of a gated call', () => {
  test('while it waits: the decision comes when no worker is up, and it runs once [confirm.once] [confirm.signal]', () =>
    play(asks('pay', { n: 5 }), async (scene) => {
      await scene.startWorker();
      const turn = await scene.client.sendMessage(scene.turn);
      await waiting(scene, turn);
      await scene.worker?.kill();
      await approve(scene, turn);
      await scene.startWorker();
      expect(await turn.result()).toMatchObject({ status: 'completed' });
      expect(scene.effects()).toEqual([expect.stringMatching(/^pay 5 /)]);
      expect(scene.told(1)).toEqual({ n: 5 });
    }));

  test.each([
    // It has begun: whether it ran nobody can know.
    ['between the record of the decision and the run', 'after', { effects: 0, told: UNKNOWN }],
    ...inTier(
      [],
      [['between the decision and the record of it', 'before', { effects: 1, told: { n: 5 } }] as const],
    ),
  ] as const)('%s: it is started once at most [confirm.once]', (_name, when, outcome) =>
    play(asks('pay', { n: 5 }), async (scene) => {
      const doomed = await scene.startWorker({ when, operation: 'approvals.beginAnsweredCall', call: 1 });
      const turn = await scene.client.sendMessage(scene.turn);
      await waiting(scene, turn);
      await approve(scene, turn);
      await doomed.hanging;
      await doomed.kill();
      await scene.startWorker();
      expect(await turn.result()).toMatchObject({ status: 'completed' });
      expect(scene.effects()).toHaveLength(outcome.effects);
      expect(scene.told(1)).toEqual(outcome.told);
    }),
  );

  test.each(inTier(['pay_slowly'], ['pay_slowly', 'pay_if_allowed']))(
    'during its run: it is reported as unknown, and never run again: %s [confirm.once]',
    (name) =>
      play(asks(name), async (scene) => {
        await scene.startWorker();
        const turn = await scene.client.sendMessage(scene.turn);
        await waiting(scene, turn);
        await approve(scene, turn);
        await effects(scene, 1);
        await scene.worker?.kill();
        scene.openGate();
        await scene.startWorker();
        expect(await turn.result()).toMatchObject({ status: 'completed' });
        expect(scene.effects()).toHaveLength(1);
        expect(scene.told(1)).toEqual(UNKNOWN);
      }),
  );

  const asked = [
    [true, { effects: 2, told: { held: true } }],
    [false, { effects: 1, told: UNKNOWN }],
  ] as const;
  test.each(inTier<readonly (typeof asked)[number][]>([], asked))(
    'whose tool has a person asked about unknown outcomes; answered %s [turn.crash.unknown] [confirm.inside]',
    (confirmed, outcome) =>
      play(asks('hold_asking'), async (scene) => {
        await scene.startWorker();
        const turn = await scene.client.sendMessage(scene.turn);
        await effects(scene, 1);
        await scene.worker?.kill();
        scene.openGate();
        await scene.startWorker();
        const request = await waiting(scene, turn);
        expect(request).toMatchObject({
          kind: 'confirmation',
          hint: 'An earlier attempt of hold_asking may have run. Run it again?',
        });
        await approve(scene, turn, confirmed);
        expect(await turn.result()).toMatchObject({ status: 'completed' });
        expect(scene.effects()).toHaveLength(outcome.effects);
        expect(scene.told(1)).toEqual(outcome.told);
      }),
  );

  if (isDeep) {
    test('between the question of a run and the end of its attempt: one request is asked [confirm.inside] [confirm.once]', () =>
      play(asks('pay_if_allowed'), async (scene) => {
        const doomed = await scene.startWorker({
          when: 'after',
          operation: 'approvals.suspendCall',
          call: 1,
        });
        const turn = await scene.client.sendMessage(scene.turn);
        await doomed.hanging;
        await doomed.kill();
        scene.openGate();
        await scene.startWorker();
        await waiting(scene, turn);
        await approve(scene, turn);
        expect(await turn.result()).toMatchObject({ status: 'completed' });
        expect(scene.effects()).toHaveLength(1);
        const asked = (await scene.transcript()).filter(({ kind }) => kind === 'request');
        expect(asked).toHaveLength(1);
      }));
  }
});
