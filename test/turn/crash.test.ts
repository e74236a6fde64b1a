import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GeminiReply, hang, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import type { StoreOperation } from '../setup/wrapped-store.ts';

type Boundary = [name: string, when: 'before' | 'after', operation: StoreOperation, call: number];

const FEW_BOUNDARIES: readonly Boundary[] = [
  ['a recorded model step and its completion', 'after', 'turns.commitStep', 1],
];
const BOUNDARIES: readonly Boundary[] = [
  ...FEW_BOUNDARIES,
  ["a tool's start and its run", 'after', 'turns.beginCall', 2],
  ['the last step and its completion', 'after', 'turns.commitStep', 3],
  ['two steps', 'before', 'turns.openStep', 2],
  ['the opening of a step and its model call', 'after', 'turns.openStep', 2],
  ["a tool's ledger write and its completion", 'after', 'turns.settleCall', 1],
];

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

const play = (script: GeminiScript, scenes: (scene: CrashScene) => Promise<void>) =>
  CrashScene.play(server, script, scenes);

describe.concurrent('SIGKILL of the worker', () => {
  test('during a model call: the call is made again and the turn completes [turn.crash.model]', () =>
    play([hang(), text('done')], async (scene) => {
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

  if (isDeep) {
    test('during a model call of a turn that is then interrupted: it ends, and the message is answered [message.interrupt]', () =>
      play(hangUntil('now', text('second')), async (scene) => {
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
      play(
        () => hang(),
        async (scene) => {
          await scene.startWorker();
          const { workflowId } = await scene.client.sendMessage(scene.turn);
          await scene.gemini.waitForRequests(1);
          await scene.worker?.kill();
          await scene.startWorker();
          const handle = scene.temporal.workflow.getHandle(workflowId);
          await handle.cancel();
          await handle.result().catch(() => undefined);
          expect((await handle.describe()).status.name).toBe('CANCELLED');
        },
      ));
  }

  test('during a tool: it runs again, under the same call key [turn.crash.tool]', () =>
    play(stepCalls([[{ name: 'hold' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => expect(scene.effects()).toHaveLength(1));
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
    play(stepCalls([[{ name: 'hold_not_idempotent' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => expect(scene.effects()).toHaveLength(1));
      await scene.worker?.kill();
      await scene.startWorker();
      await handle.result();
      expect(scene.effects()).toHaveLength(1);
      expect(scene.told(1)).toEqual({
        error: 'outcome unknown: this call may have run; check before repeating it',
      });
    }));

  test('behind a once: its effect is not repeated, its result is given back [turn.once]', () =>
    play(stepCalls([[{ name: 'once_only' }]]), async (scene) => {
      await scene.startWorker();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => expect(scene.effects().join('\n')).toMatch(/^after_once/m));
      await scene.worker?.kill();
      scene.openGate();
      await scene.startWorker();
      await handle.result();
      expect(scene.effects().filter((line) => line.startsWith('once_only'))).toHaveLength(1);
      expect(scene.told(1)).toEqual({ charge: expect.stringMatching(/^charge for .{22}\.e-.{22}\.1\.0$/) });
    }));

  test.each(inTier(FEW_BOUNDARIES, BOUNDARIES))(
    'between %s: nothing recorded is asked or run again [turn.crash.boundary]',
    (_name, when, operation, call) =>
      play(stepCalls([[effect(1)], [effect(2)]]), async (scene) => {
        const doomed = await scene.startWorker({ when, operation, call });
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

/** However often an attempt is made before the message arrives, none of them is answered. */
function hangUntil(message: string, reply: GeminiReply): GeminiScript {
  return ({ contents }) => (contents?.at(-1)?.parts?.some(({ text }) => text === message) ? reply : hang());
}
