import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { MessageRejected, MessageTooLarge, NoAnswer } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { MOST_QUEUED } from '../../src/protocol/message.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { type ClientScene, newSession, openClientScene, PATIENT } from './client-scene.ts';

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene();
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

const workflow = (workflowId: string) => scene.environment.temporal.workflow.getHandle(workflowId);

describe('a message while another one is answered', () => {
  test('waits, says its place, and has its own result before the run has closed [message.enqueue]', async () => {
    const { names, first } = await scene.holding();
    const one = await scene.client.sendMessage({ ...names, message: 'one', messageId: 'm1' });
    const two = await scene.client.sendMessage({ ...names, message: 'hold on', messageId: 'm2' });
    expect(one).toMatchObject({
      disposition: 'sent',
      attached: false,
      runId: first.runId,
      taskQueue: 'holdfast',
    });
    expect(await one.receipt(PATIENT)).toMatchObject({ status: 'queued', position: 1, confirmed: true });
    expect(await two.receipt(PATIENT)).toMatchObject({ status: 'queued', position: 2, messageId: 'm2' });
    expect(await first.receipt(PATIENT)).toMatchObject({
      status: 'running',
      invocationId: first.invocationId,
    });
    scene.held.release();
    scene.held.hold();
    expect(await first.result()).toMatchObject({ status: 'completed', text: 'answer to hold' });
    expect(await one.result()).toMatchObject({ invocationId: one.invocationId, text: 'answer to one' });
    await scene.held.begun();
    expect(await one.receipt(PATIENT)).toMatchObject({ status: 'finished' });
    expect((await workflow(first.workflowId).describe()).status.name).toBe('RUNNING');
    scene.held.release();
    expect(await two.result()).toMatchObject({ text: 'answer to hold on' });
    expect(await scene.said(names)).toEqual([
      'hold',
      'answer to hold',
      'one',
      'answer to one',
      'hold on',
      'answer to hold on',
    ]);
  });

  test('has its status and events without a store, when the run has closed [message.enqueue]', async () => {
    const { names, first } = await scene.holding();
    const one = await scene.plain.sendMessage({ ...names, message: 'one', messageId: 'm1' });
    scene.held.release();
    const result = await one.result();
    expect(result).toMatchObject({ v: 1, invocationId: one.invocationId, status: 'completed' });
    expect(result.text).toBeUndefined();
    const events = await scene.environment.store.sessions.readEvents({
      ...names,
      after: result.events.from - 1,
    });
    expect(events.at(-1)).toMatchObject({
      seq: result.events.to,
      event: { invocationId: one.invocationId, content: { parts: [{ text: 'answer to one' }] } },
    });
    expect((await first.result()).others).toHaveLength(1);
  });

  test('sent again is the same one, whatever runs or has ended [message.enqueue]', async () => {
    const { names } = await scene.holding();
    const message = { ...names, message: 'one', messageId: 'm1' };
    const handles = await Promise.all([1, 2, 3].map(() => scene.client.sendMessage(message)));
    scene.held.release();
    const results = await Promise.all(handles.map((handle) => handle.result()));
    const later = await scene.client.sendMessage(message);
    results.push(await later.result());
    expect(new Set(results.map(({ events }) => JSON.stringify(events))).size).toBe(1);
    expect(await later.receipt(PATIENT)).toMatchObject({ status: 'finished', confirmed: true });
    expect(await scene.said(names)).toEqual(['hold', 'answer to hold', 'one', 'answer to one']);
  });

  test('interrupts it, or the session does without a message [message.interrupt]', async () => {
    const { names, first } = await scene.holding();
    const queued = await scene.client.sendMessage({ ...names, message: 'later' });
    const urgent = await scene.client.sendMessage({ ...names, message: 'now', policy: 'interrupt' });
    expect(await first.result()).toMatchObject({ status: 'interrupted' });
    expect(await urgent.result()).toMatchObject({ status: 'completed', text: 'answer to now' });
    expect(await queued.result()).toMatchObject({ text: 'answer to later' });
    expect(await scene.said(names)).toEqual(['hold', 'now', 'answer to now', 'later', 'answer to later']);
    expect(scene.environment.gemini.refusals).toEqual([]);
  });

  test('is refused where it must not wait, and what it says about one of this id is told [message.interrupt]', async () => {
    const { names } = await scene.holding();
    const also = { ...names, message: 'also', messageId: 'm1', policy: 'reject' as const };
    const refused = scene.client.sendMessage(also);
    await expect(refused).rejects.toThrow(MessageRejected);
    await expect(refused).rejects.toMatchObject({ receipt: { status: 'rejected', messageId: 'm1' } });
    const queued = await scene.client.sendMessage({ ...also, policy: 'enqueue' });
    expect((await scene.client.sendMessage(also)).disposition).toBe('attached');
    scene.held.release();
    expect(await queued.result()).toMatchObject({ text: 'answer to also' });
  });

  test('finds no room in a full queue, and says so to whoever waits for it [message.enqueue]', async () => {
    const { names } = await scene.holding();
    const send = (messageId: string) =>
      scene.client.sendMessage({ ...names, message: `text of ${messageId}`, messageId });
    await Promise.all(Array.from({ length: MOST_QUEUED }, (_, index) => send(`m${index}`)));
    await expect.poll(async () => (await scene.client.status(names, PATIENT))?.queued).toBe(MOST_QUEUED);
    const asked = await send('asked');
    expect(await asked.receipt(PATIENT)).toMatchObject({ status: 'queue full', confirmed: true });
    const waits = await send('waits');
    await expect(waits.result()).rejects.toThrow(MessageRejected);
    await expect(waits.result()).rejects.toThrow(/queue full: 100 messages wait already/);
    await workflow(waits.workflowId).terminate('enough');
  });
});

describe('an acknowledged message', () => {
  test.each(someOf(['with a store', 'without a store']))(
    'is answered when the run that had it was terminated or cancelled, %s [message.acknowledged]',
    async (kind) => {
      const client = kind === 'with a store' ? scene.client : scene.plain;
      const ends: [string, (workflowId: string) => Promise<unknown>][] = [
        ['terminated', (workflowId) => workflow(workflowId).terminate('by an operator')],
        ['cancelled', (workflowId) => workflow(workflowId).cancel()],
      ];
      for (const [how, end] of ends) {
        scene.held.hold();
        const { names, first } = await scene.holding();
        const one = await client.sendMessage({ ...names, message: 'one', messageId: 'm1' });
        const two = await client.sendMessage({ ...names, message: 'two', messageId: 'm2' });
        expect(await two.receipt(PATIENT), how).toMatchObject({ status: 'queued', position: 2 });
        await end(first.workflowId);
        await expect(first.result(), how).rejects.toThrow(WorkflowFailedError);
        const [answerOfTwo, answerOfOne] = await Promise.all([two.result(), one.result()]);
        expect(answerOfTwo, how).toMatchObject({ status: 'completed', invocationId: two.invocationId });
        expect(answerOfOne, how).toMatchObject({ status: 'completed', invocationId: one.invocationId });
        const said = await scene.said(names);
        expect([...said].sort(), how).toEqual(['answer to one', 'answer to two', 'hold', 'one', 'two']);
        if (client === scene.client) {
          expect(said, how).toEqual(['hold', 'one', 'answer to one', 'two', 'answer to two']);
        }
      }
      expect(scene.environment.gemini.refusals).toEqual([]);
    },
  );

  test.each(someOf(['with a store', 'without a store']))(
    'that was begun and cut off is not begun again by itself, %s [message.acknowledged]',
    async (kind) => {
      const client = kind === 'with a store' ? scene.client : scene.plain;
      const { names } = await scene.holding();
      const queued = await client.sendMessage({ ...names, message: 'hold too', messageId: 'm1' });
      expect(await queued.receipt(PATIENT)).toMatchObject({ status: 'queued', confirmed: true });
      const result = queued.result();
      result.catch(() => undefined);
      scene.held.release();
      scene.held.hold();
      await scene.held.begun();
      await workflow(queued.workflowId).terminate('by an operator');
      await expect(result).rejects.toThrow(WorkflowFailedError);
      expect(await scene.client.status(names, PATIENT)).toBeUndefined();
      expect(await scene.said(names)).toEqual(['hold', 'answer to hold', 'hold too']);
    },
  );

  if (isDeep) {
    test('racing with the turn’s end is answered once [message.acknowledged]', async () => {
      for (let round = 0; round < 12; round++) {
        const names = newSession();
        const first = await scene.client.sendMessage({ ...names, message: 'first', messageId: 'm0' });
        const racing: Promise<TurnResult>[] = [];
        for (const messageId of ['m1', 'm2']) {
          const handle = await scene.client.sendMessage({ ...names, message: messageId, messageId });
          racing.push(handle.result());
        }
        expect((await first.result()).text).toBe('answer to first');
        for (const result of await Promise.all(racing)) expect(result.status).toBe('completed');
        expect(await scene.said(names)).toEqual([
          'first',
          'answer to first',
          'm1',
          'answer to m1',
          'm2',
          'answer to m2',
        ]);
      }
    });
  }

  if (isDeep) {
    test('of twenty starts at once is one turn for each [message.acknowledged]', async () => {
      const names = newSession();
      const handles = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          scene.client.sendMessage({ ...names, message: `m${index}`, messageId: `m${index}` }),
        ),
      );
      expect(handles.filter(({ disposition }) => disposition === 'started')).toHaveLength(1);
      const results = await Promise.all(handles.map((handle) => handle.result()));
      expect(results.map(({ text }) => text)).toEqual(
        handles.map(({ messageId }) => `answer to ${messageId}`),
      );
      const said = await scene.said(names);
      expect(said).toHaveLength(40);
      expect(new Set(said).size).toBe(40);
    });
  }
});

describe('with no worker up', () => {
  test('a message is taken, says that nobody has confirmed it, and is answered later [message.offline]', async () => {
    const names = newSession();
    await scene.environment.stopWorker();
    onTestFinished(() => scene.environment.restartWorker());
    const first = await scene.client.sendMessage({ ...names, message: 'one', messageId: 'm1' });
    const second = await scene.client.sendMessage({ ...names, message: 'two', messageId: 'm2' });
    expect([first.disposition, second.disposition]).toEqual(['started', 'sent']);
    const receipt = await second.receipt({ timeout: 300 });
    expect(receipt).toEqual({
      status: 'accepted',
      confirmed: false,
      reason: expect.stringMatching(/polled? the task queue holdfast|polls the task queue holdfast/),
    });
    const must = scene.client.sendMessage({ ...names, message: 'three', policy: 'reject' });
    await expect(must).rejects.toThrow(NoAnswer);
    await expect(scene.client.status(names, { timeout: 300 })).rejects.toThrow(NoAnswer);
    await scene.environment.restartWorker();
    expect(await second.result()).toMatchObject({ text: 'answer to two' });
    expect(await first.result()).toMatchObject({ text: 'answer to one' });
    expect((await scene.said(names)).slice(0, 4)).toEqual(['one', 'answer to one', 'two', 'answer to two']);
  });

  test('another message under the id of an answered one has not its answer, and is refused later [turn.messageId]', async () => {
    const names = { ...newSession(), messageId: 'm1' };
    await (await scene.client.sendMessage({ ...names, message: 'one' })).result();
    await scene.environment.stopWorker();
    onTestFinished(() => scene.environment.restartWorker());
    const other = await scene.client.sendMessage({ ...names, message: 'two' });
    const refused = other.result();
    const again = await scene.client.sendMessage({ ...names, message: 'one' });
    // The same message has the answer that the store has.
    expect(await again.result()).toMatchObject({ text: 'answer to one' });
    expect(await Promise.race([refused, 'waits'])).toBe('waits');
    await scene.environment.restartWorker();
    expect(await refused).toMatchObject({ error: { code: 'HOLDFAST_MESSAGE_CONFLICT' } });
  });

  test('a task queue that nobody has ever polled is named [message.offline]', async () => {
    const { temporal, store } = scene.environment;
    const client = new HoldfastClient({ temporal, store, taskQueue: 'nobody' });
    const turn = await client.sendMessage({ ...newSession(), message: 'hello?' });
    expect(turn.taskQueue).toBe('nobody');
    expect(await turn.receipt({ timeout: 200 })).toMatchObject({
      status: 'accepted',
      reason: 'no worker polls the task queue nobody',
    });
    await workflow(turn.workflowId).terminate();
  });
});

describe('a large message', () => {
  const large = `begin ${'x'.repeat(5 * 1024 * 1024)} end`;

  test('of 5 MB goes through the store, started and queued alike [message.large]', async () => {
    const names = newSession();
    const started = await scene.client.sendMessage({ ...names, message: large, messageId: 'm1' });
    expect(await started.result()).toMatchObject({ status: 'completed' });
    await scene.holding(names);
    const queued = await scene.client.sendMessage({
      ...names,
      message: { parts: [{ text: large }] },
      messageId: 'm2',
      stateDelta: { topic: 'size' },
    });
    expect(await queued.receipt(PATIENT)).toMatchObject({ status: 'queued', position: 1 });
    scene.held.release();
    expect(await queued.result()).toMatchObject({ status: 'completed' });
    const messages = (await scene.environment.store.sessions.readEvents(names)).filter(
      ({ kind }) => kind === 'message',
    );
    expect(messages.map(({ event }) => event.content?.parts?.[0]?.text === large)).toEqual([
      true,
      false,
      true,
    ]);
    expect(messages[2]?.event.actions?.stateDelta).toEqual({ topic: 'size' });
    const { historySize } = await workflow(started.workflowId).describe();
    expect(historySize).toBeLessThan(64 * 1024);
    expect(
      await (await scene.client.sendMessage({ ...names, message: large, messageId: 'm1' })).result(),
    ).toEqual(await started.result());
  });

  test('without a store is refused with its size and what to do [message.large]', async () => {
    const refused = scene.plain.sendMessage({ ...newSession(), message: large });
    await expect(refused).rejects.toThrow(MessageTooLarge);
    await expect(refused).rejects.toThrow(
      /the message has 5242\d{3} bytes of JSON with its stateDelta, at most 65536 travel .* option `store`/,
    );
    const withDelta = scene.plain.sendMessage({
      ...newSession(),
      message: 'hi',
      stateDelta: { large: 'x'.repeat(70_000) },
    });
    await expect(withDelta).rejects.toMatchObject({ code: 'HOLDFAST_MESSAGE_TOO_LARGE' });
  });
});

test('a client of Temporal is made of what one is made of [worker.options]', async () => {
  const { connection, options } = scene.environment.temporal;
  const seen: string[] = [];
  const client = new HoldfastClient({
    temporal: {
      connection,
      namespace: options.namespace,
      identity: 'who-sends',
      interceptors: {
        workflow: [
          {
            async startWithDetails(input, next) {
              seen.push(input.workflowType);
              return await next(input);
            },
          },
        ],
      },
    },
  });
  const turn = await client.sendMessage({ ...newSession(), message: 'hi' });
  await turn.result();
  expect(seen).toEqual(['agentTurn']);
  const history = await workflow(turn.workflowId).fetchHistory();
  expect(history.events?.[0]?.workflowExecutionStartedEventAttributes?.identity).toBe('who-sends');
});
