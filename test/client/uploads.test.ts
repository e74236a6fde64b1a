import { Client } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { MessageRejected, NoAnswer } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { isDeep } from '../setup/tier.ts';
import { type ClientScene, newSession, openClientScene } from './client-scene.ts';

/** gRPC's code of an answer that has not come. */
const DEADLINE_EXCEEDED = 4;

const large = `begin ${'x'.repeat(200_000)} end`;

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene();
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

const inbox = async (names: SessionNames) =>
  (await scene.environment.store.messages.readInbox(names)).map(({ messageId, status }) => [
    messageId,
    status,
  ]);

describe('a large message that is not sent', () => {
  test('leaves nothing behind where the session refuses it [message.large]', async () => {
    const { names, first } = await scene.holding();
    const send = scene.client.sendMessage({ ...names, message: large, messageId: 'm1', policy: 'reject' });
    await expect(send).rejects.toThrow(MessageRejected);
    expect(await inbox(names)).toEqual([]);
    scene.held.release();
    await first.result();
    const again = await scene.client.sendMessage({
      ...names,
      message: large,
      messageId: 'm1',
      policy: 'reject',
    });
    expect(await again.result()).toMatchObject({ status: 'completed' });
    expect((await scene.said(names))[2]).toBe(large);
  });

  test('leaves nothing behind where it fails before it is sent [message.large]', async () => {
    const names = newSession();
    const { connection, options } = scene.environment.temporal;
    const client = new HoldfastClient({
      temporal: new Client({
        connection,
        namespace: options.namespace,
        dataConverter: {
          payloadCodecs: [
            {
              encode: () => Promise.reject(new Error('the key is not there')),
              decode: (payloads) => Promise.resolve(payloads),
            },
          ],
        },
      }),
      store: scene.environment.store,
    });
    await expect(client.sendMessage({ ...names, message: large })).rejects.toThrow('the key is not there');
    const absent = new HoldfastClient({
      temporal: new Client({ connection, namespace: 'absent' }),
      store: scene.environment.store,
    });
    await expect(absent.sendMessage({ ...names, message: large })).rejects.toThrow(/absent/i);
    expect(await inbox(names)).toEqual([]);
  });

  test('stays where nobody knows whether it was sent [message.large]', async () => {
    const names = newSession();
    const { workflowService } = scene.environment.temporal;
    // The server has it, its answer is lost.
    const start = workflowService.startWorkflowExecution.bind(workflowService);
    const noDetails = { get: () => [] };
    const lost = Object.assign(new Error('cut'), {
      code: DEADLINE_EXCEEDED,
      details: '',
      metadata: noDetails,
    });
    const starting = vi.spyOn(workflowService, 'startWorkflowExecution');
    onTestFinished(() => starting.mockRestore());
    await scene.environment.stopWorker();
    starting.mockImplementationOnce(async (request) => {
      await start(request);
      throw lost;
    });
    const message = { ...names, message: large, messageId: 'm1' };
    await expect(scene.client.sendMessage(message)).rejects.toMatchObject({
      name: 'TemporalUnreachable',
      cause: { cause: lost },
    });
    expect(await inbox(names)).toEqual([['m1', 'uploaded']]);
    await scene.environment.restartWorker();
    const again = await scene.client.sendMessage(message);
    expect(await again.result()).toMatchObject({ status: 'completed' });
    expect(await scene.said(names)).toHaveLength(2);
  });

  if (isDeep) {
    test('takes nothing from another sending of the same id [message.acknowledged]', async () => {
      const { names } = await scene.holding();
      await scene.environment.stopWorker();
      const message = { ...names, message: large, messageId: 'm1' };
      const sent = await scene.client.sendMessage(message);
      await expect(scene.client.sendMessage({ ...message, policy: 'reject' })).rejects.toThrow(NoAnswer);
      expect(await inbox(names)).toEqual([['m1', 'uploaded']]);
      await scene.environment.restartWorker();
      scene.held.release();
      expect(await sent.result()).toMatchObject({ status: 'completed' });
    });
  }
});
