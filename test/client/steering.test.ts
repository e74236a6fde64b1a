import { Client, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { InvalidTurn, NoAnswer } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { isDeep } from '../setup/tier.ts';
import { type ClientScene, openClientScene, PATIENT } from './client-scene.ts';

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene();
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

describe('steering', () => {
  test('an order with no worker up is kept, and says that nobody has confirmed it [steer.interrupt]', async () => {
    const { names, first } = await scene.holding();
    const queued = await scene.client.sendMessage({ ...names, message: 'next', messageId: 'm2' });
    expect(await queued.receipt(PATIENT)).toMatchObject({ status: 'queued' });
    await scene.environment.stopWorker();
    const order = await scene.client.interrupt(names, { timeout: 300 });
    expect(order).toEqual({ confirmed: false, reason: expect.stringContaining('the task queue holdfast') });
    await expect(scene.client.status(names, { timeout: 300 })).rejects.toThrow(NoAnswer);
    await scene.environment.restartWorker();
    expect(await first.result()).toMatchObject({ status: 'interrupted' });
    // The order is in the history and was asked for as well: it counts once.
    expect(await queued.result()).toMatchObject({ status: 'completed', text: 'answer to next' });
  });

  test('a turn is interrupted by its own id only, where one is given [steer.interrupt]', async () => {
    const { names, first } = await scene.holding();
    const queued = await scene.client.sendMessage({ ...names, message: 'next', messageId: 'm2' });
    expect(await queued.receipt(PATIENT)).toMatchObject({ status: 'queued' });
    expect(await scene.client.interrupt(names, { ...PATIENT, invocationId: queued.invocationId })).toEqual({
      v: 1,
      confirmed: true,
    });
    expect(await scene.client.status(names, PATIENT)).toMatchObject({ invocationId: first.invocationId });
    const { invocationId } = first;
    expect(await scene.client.interrupt(names, { ...PATIENT, invocationId })).toMatchObject({ invocationId });
    expect(await first.result()).toMatchObject({ status: 'interrupted' });
    expect(await queued.result()).toMatchObject({ text: 'answer to next' });
    await expect(scene.client.interrupt(names, { ...PATIENT, invocationId: '' })).rejects.toThrow(
      InvalidTurn,
    );
  });

  if (isDeep) {
    test('an order whose answer was lost is sent again, and counts once [steer.interrupt]', async () => {
      const { names, first } = await scene.holding();
      const queued = await scene.client.sendMessage({ ...names, message: 'hold next', messageId: 'm2' });
      expect(await queued.receipt(PATIENT)).toMatchObject({ status: 'queued' });
      scene.held.hold();
      const { connection, options } = scene.environment.temporal;
      const losing = new HoldfastClient({
        temporal: new Client({
          connection,
          namespace: options.namespace,
          interceptors: {
            workflow: [
              {
                async startUpdate(input, next) {
                  await next(input);
                  await scene.held.begun();
                  throw new WorkflowUpdateRPCTimeoutOrCancelledError('the answer is lost');
                },
              },
            ],
          },
        }),
      });
      expect(await losing.interrupt(names)).toMatchObject({ confirmed: false });
      expect(await first.result()).toMatchObject({ status: 'interrupted' });
      // The signal was handled before the query: the next turn has not been interrupted by it.
      expect(await scene.client.status(names, PATIENT)).toMatchObject({
        status: 'running',
        invocationId: queued.invocationId,
        running: [{ tool: 'hold' }],
      });
      scene.held.release();
      expect(await queued.result()).toMatchObject({ status: 'completed' });
    });
  }
});
