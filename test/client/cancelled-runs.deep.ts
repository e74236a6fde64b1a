import { Client, WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type ClientScene, newSession, openClientScene, PATIENT } from './client-scene.ts';

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene();
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

const workflow = (workflowId: string) => scene.environment.temporal.workflow.getHandle(workflowId);

/** Holds the workers' next call of the store until it is let go. */
function held(operation: 'messages.keep' | 'turns.settleStep') {
  const { turns, messages } = scene.environment.store;
  const own: (argument: never) => Promise<unknown> =
    operation === 'messages.keep' ? messages.keep : turns.settleStep;
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const waiting = async (argument: never) => {
    reached.resolve();
    await gate.promise;
    return await own(argument);
  };
  const spied = operation === 'messages.keep' ? vi.spyOn(messages, 'keep') : vi.spyOn(turns, 'settleStep');
  spied.mockImplementationOnce(waiting as never);
  return { reached: reached.promise, release: () => gate.resolve() };
}

/** Resolves when the workflow has handled an event of a kind. */
async function handled(workflowId: string, kind: 'cancelRequested' | 'updateAccepted'): Promise<void> {
  const attributes = {
    cancelRequested: 'workflowExecutionCancelRequestedEventAttributes',
    updateAccepted: 'workflowExecutionUpdateAcceptedEventAttributes',
  } as const;
  await expect
    .poll(async () => {
      const { events } = await workflow(workflowId).fetchHistory();
      const at = events?.findIndex((event) => event[attributes[kind]]) ?? -1;
      const tasks = events?.slice(at).some((event) => event.workflowTaskCompletedEventAttributes);
      return at !== -1 && (kind === 'updateAccepted' || tasks);
    })
    .toBe(true);
}

describe('a turn that was cancelled', () => {
  test('is told from the store while a later one runs, whose end nobody waits for [message.acknowledged]', async () => {
    const { names, first } = await scene.holding();
    await workflow(first.workflowId).cancel();
    await expect(first.result()).rejects.toThrow(WorkflowFailedError);
    scene.held.hold();
    const { first: later } = await scene.holding(names, 'hold longer');
    const again = await scene.client.sendMessage({ ...names, message: 'hold', messageId: 'hold' });
    expect(again).toMatchObject({ disposition: 'sent', runId: later.runId });
    expect(await again.receipt(PATIENT)).toMatchObject({ status: 'finished', confirmed: true });
    expect(await again.result()).toMatchObject({
      invocationId: first.invocationId,
      status: 'interrupted',
      error: { code: 'CANCELLED' },
    });
    // Whoever has the handle of the run that was cancelled is told of this run.
    await expect(first.result()).rejects.toThrow(WorkflowFailedError);
    expect(await scene.client.status(names, PATIENT)).toMatchObject({ invocationId: later.invocationId });
    scene.held.release();
    expect(await later.result()).toMatchObject({ status: 'completed' });
  });

  test('says of a message that it has accepted that it waits, while it closes [message.acknowledged]', async () => {
    const { names, first } = await scene.holding();
    const settling = held('turns.settleStep');
    await workflow(first.workflowId).cancel();
    await settling.reached;
    const one = await scene.client.sendMessage({ ...names, message: 'one', messageId: 'm1' });
    expect(one).toMatchObject({ disposition: 'sent', runId: first.runId });
    expect(await one.receipt(PATIENT)).toMatchObject({ status: 'queued', confirmed: true, messageId: 'm1' });
    settling.release();
    expect(await one.result()).toMatchObject({ status: 'completed', text: 'answer to one' });
    expect(await scene.said(names)).toEqual(['hold', 'one', 'answer to one']);
  });

  test('tells who asks for a message that is on its way to the store [message.acknowledged]', async () => {
    const { names, first } = await scene.holding();
    const keeping = held('messages.keep');
    const one = await scene.client.sendMessage({ ...names, message: 'one', messageId: 'm1' });
    await keeping.reached;
    const receipt = one.receipt(PATIENT);
    const result = one.result();
    await handled(first.workflowId, 'updateAccepted');
    await workflow(first.workflowId).cancel();
    await handled(first.workflowId, 'cancelRequested');
    keeping.release();
    expect(await receipt).toMatchObject({
      confirmed: true,
      status: expect.stringMatching(/^(queued|running|finished)$/),
    });
    expect(await result).toMatchObject({ status: 'completed', text: 'answer to one' });
    expect(await scene.said(names)).toEqual(['hold', 'one', 'answer to one']);
  });
});

test('a run of an older worker that cancels its answers is asked no more, and the store tells [message.acknowledged]', async () => {
  const { names } = await scene.holding();
  const message = { ...names, message: 'one', messageId: 'm1' };
  expect(await (await scene.client.sendMessage(message)).receipt(PATIENT)).toMatchObject({
    status: 'queued',
  });
  const { connection, options } = scene.environment.temporal;
  const cancelled = () =>
    Promise.reject(new WorkflowUpdateFailedError('failed', new CancelledFailure('cancelled')));
  const client = new HoldfastClient({
    temporal: new Client({
      connection,
      namespace: options.namespace,
      interceptors: { workflow: [{ startUpdate: cancelled }] },
    }),
    store: scene.environment.store,
  });
  const again = await client.sendMessage(message);
  expect(await again.receipt(PATIENT)).toMatchObject({ status: 'queued', confirmed: true, messageId: 'm1' });
  scene.held.release();
  expect(await again.result()).toMatchObject({ status: 'completed', text: 'answer to one' });
});

test('who waits for a message of many reads only what became of this one [message.enqueue]', async () => {
  const { names } = await scene.holding(newSession());
  const others = await Promise.all(
    [1, 2, 3].map((n) => scene.client.sendMessage({ ...names, message: `m${n}`, messageId: `m${n}` })),
  );
  const last = others.at(-1);
  expect(await last?.receipt(PATIENT)).toMatchObject({ status: 'queued' });
  const { store } = scene.environment;
  const wholeInbox = vi.spyOn(store.messages, 'readInbox');
  const oneRow = vi.spyOn(store.messages, 'findWaiting');
  onTestFinished(() => {
    wholeInbox.mockRestore();
    oneRow.mockRestore();
  });
  const result = last?.result();
  await expect.poll(() => oneRow.mock.calls.length).toBeGreaterThan(0);
  expect(wholeInbox).not.toHaveBeenCalled();
  scene.held.release();
  expect(await result).toMatchObject({ text: 'answer to m3' });
});
