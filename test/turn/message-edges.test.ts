import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openUnderFence } from '../../activities/model/open-step.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Content } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { OpenStep } from '../../src/store/turns/step-store.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { beating } from '../setup/beating.ts';
import { Conversation } from '../setup/conversation.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

const held = new HeldTool();
const wakeUp = Promise.withResolvers<void>();
const late = Promise.withResolvers<unknown>();
let lateStep: OpenStep | undefined;
const zombie = tool({
  name: 'zombie',
  description: 'goes on when its run has given it up, as a late attempt of a first step would',
  execute: async (_args, context) => {
    await beating(context, wakeUp.promise);
    const step = lateStep as OpenStep;
    openUnderFence(environment.store, step).then(late.resolve, ({ code }) => late.resolve(code));
    return {};
  },
});

const lastText = (contents: readonly Content[] | undefined) =>
  contents?.findLast(({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined))
    ?.parts?.[0]?.text ?? '';

const script: GeminiScript = ({ contents }) => {
  const said = lastText(contents);
  const answered = contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined);
  if (!answered && said === 'hold') return call('hold');
  const responses = contents?.filter(({ parts }) => parts?.some((part) => part.functionResponse)).length ?? 0;
  if (said === 'zombie' && responses < 2) return call(responses === 0 ? 'zombie' : 'hold');
  return text(`answer to ${said}`);
};

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool(), zombie] })],
    script,
  });
});
beforeEach(() => held.hold());
afterAll(() => environment.close());

async function holding(): Promise<Conversation> {
  const conversation = new Conversation(environment);
  await conversation.start('hold');
  await held.begun();
  return conversation;
}

/** A run that finds signals with its first task. */
async function withoutWorker(act: (conversation: Conversation) => Promise<unknown>): Promise<Conversation> {
  await environment.stopWorker();
  const conversation = new Conversation(environment);
  await act(conversation);
  await environment.restartWorker();
  return conversation;
}

const signalWithStart = (conversation: Conversation, messageId: string, start: object = {}) =>
  environment.temporal.workflow.signalWithStart('agentTurn', {
    workflowId: conversation.workflowId,
    taskQueue: 'holdfast',
    args: [{ ...conversation.names, ...start }],
    signal: 'sendMessage',
    signalArgs: [{ messageId, message: messageId }],
  });

const inbox = (conversation: Conversation) => environment.store.messages.readInbox(conversation.names);

describe('what comes before the first task', () => {
  test('a message is kept although its run is cancelled at once [message.acknowledged]', async () => {
    const conversation = await withoutWorker(async (it) => {
      await signalWithStart(it, 'kept');
      await it.handle.cancel();
    });
    await conversation.result().catch(() => undefined);
    expect(await inbox(conversation)).toMatchObject([{ messageId: 'kept', status: 'waiting' }]);
    await conversation.start('next');
    await conversation.result();
    expect(await conversation.said()).toEqual(['next', 'answer to next', 'kept', 'answer to kept']);
  });

  test('an interrupt ends the turn before its tool runs, and the message is known ever after [steer.interrupt]', async () => {
    const conversation = await withoutWorker(async (it) => {
      await it.start('hold');
      await it.handle.signal('interrupt', { reason: 'changed my mind' });
    });
    expect(await conversation.result()).toMatchObject({ status: 'interrupted', usage: { modelCalls: 0 } });
    expect(await conversation.said()).toEqual(['hold']);
    const { app, userId, sessionId } = conversation.names;
    const invocationId = invocationIdOf(app, userId, sessionId, 'hold');
    expect(await environment.store.turns.findInvocation(conversation.names, invocationId)).toMatchObject({
      status: 'interrupted',
    });
    await conversation.start('hold');
    expect(await conversation.result()).toMatchObject({ status: 'interrupted' });
  });

  test('of several messages that would rather be rejected than wait, one is answered [message.interrupt]', async () => {
    const conversation = await withoutWorker(async (it) => {
      await signalWithStart(it, 'one');
      await it.send('two', { policy: 'reject' });
      await it.send('three', { policy: 'reject' });
    });
    await conversation.result();
    expect(await conversation.said()).toEqual(['one', 'answer to one']);
  });

  test('messages with a lot of what nobody knows fit through Temporal all the same [message.enqueue]', async () => {
    const nonsense = { runConfig: { nonsense: 'x'.repeat(1_200_000) } } as object;
    const conversation = await withoutWorker(async (it) => {
      await it.start('first');
      for (const message of ['a', 'b', 'c']) await it.send(message, nonsense);
    });
    expect((await conversation.result()).others).toHaveLength(3);
  });
});

test('a message sent again while its rejection is being written is taken [message.enqueue]', async () => {
  const conversation = await withoutWorker(async (it) => {
    await it.start('hold');
    await it.send('five', { policy: 'reject' });
    await it.send('five', { policy: 'enqueue' });
  });
  await held.begun();
  expect(await conversation.ask('five')).toMatchObject({ status: 'queued' });
  held.release();
  await conversation.result();
  expect(await conversation.said()).toContain('answer to five');
});

test('a rejection is told to who asks for it, and forgotten when the message is accepted [message.enqueue]', async () => {
  const conversation = await holding();
  await conversation.send('five', { policy: 'reject' });
  await expect.poll(() => inbox(conversation)).toMatchObject([{ status: 'rejected' }]);
  await conversation.send('five');
  expect(await conversation.ask('five', { policy: 'reject' })).toMatchObject({ status: 'queued' });
  await conversation.send('five', { message: 'something else' });
  expect(await conversation.ask('five')).toMatchObject({ status: 'queued', position: 1 });
  held.release();
  await conversation.result();
});

test('what no worker understands leaves a row that says so [message.enqueue] [upgrade.versions]', async () => {
  const conversation = await holding();
  await conversation.send('newer', { v: 2 });
  await expect
    .poll(() => inbox(conversation))
    .toMatchObject([
      { messageId: 'newer', status: 'rejected', reason: expect.stringContaining('a version up to 1') },
    ]);
  held.release();
  await conversation.result();
});

test('names and nestings that no store keeps are refused, and what waits goes on [message.enqueue]', async () => {
  let deep: unknown = 'x';
  for (let level = 0; level < 500; level += 1) deep = [deep];
  const conversation = await holding();
  for (const fields of [{ messageId: 'a\0b' }, { messageId: 'x'.repeat(1_001) }, { stateDelta: { deep } }]) {
    await expect(conversation.ask('bad', fields as object)).rejects.toMatchObject({
      cause: { type: 'InvalidMessage' },
    });
  }
  await conversation.send('good');
  held.release();
  expect((await conversation.result()).others).toMatchObject([{ status: 'completed' }]);
  for (const fields of [{ messageId: 'a\0b' }, { stateDelta: { deep } }]) {
    const start = environment.temporal.workflow.execute('agentTurn', {
      workflowId: conversation.workflowId,
      taskQueue: 'holdfast',
      args: [{ ...conversation.names, message: 'x', ...fields }],
    });
    await expect(start).rejects.toMatchObject({ cause: { type: 'InvalidStart' } });
  }
});

test('an interrupt of another invocation does nothing, one order is one order, a novel is cut [steer.interrupt]', async () => {
  const conversation = await holding();
  await conversation.send('next');
  await conversation.handle.signal('interrupt', { invocationId: 'e-other' });
  await expect(
    conversation.handle.executeUpdate('interrupt', { args: [{ invocationId: 5 }] }),
  ).rejects.toMatchObject({ cause: { type: 'InvalidInterrupt' } });
  await until(async () => expect((await conversation.status()).running).toHaveLength(1));
  const order = { orderId: 'o1', reason: 'why '.repeat(100_000) };
  const first = await conversation.handle.executeUpdate('interrupt', { args: [order] });
  await conversation.handle.signal('interrupt', order).catch(() => undefined);
  expect(first).toMatchObject({ invocationId: expect.stringMatching(/^e-/) });
  const result = await conversation.result();
  expect(result).toMatchObject({ status: 'interrupted', others: [{ status: 'completed' }] });
  const told = (await conversation.said()).find((line) => line.includes('interrupted'));
  expect(told?.length).toBeLessThan(600);
});

test('an accepted message is answered to who asked, also while its run is being cancelled [message.acknowledged]', async () => {
  const conversation = await holding();
  const { store } = environment;
  const original = store.messages.keep.bind(store);
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  store.messages.keep = async (keep) => {
    reached.resolve();
    await released.promise;
    return await original(keep);
  };
  try {
    const asked = conversation.ask('kept');
    await reached.promise;
    await conversation.handle.cancel();
    released.resolve();
    expect(await asked).toMatchObject({ status: 'queued' });
  } finally {
    store.messages.keep = original;
  }
  await conversation.result().catch(() => undefined);
  expect(await inbox(conversation)).toMatchObject([{ messageId: 'kept', status: 'waiting' }]);
});

test.each(
  someOf([
    ['one that was answered long ago', 'first'],
    ['a new one', 'second'],
  ]),
)(
  'a message that was cut off and is sent again while the run of %s is up comes to its end [message.acknowledged] [message.enqueue]',
  async (_name, other) => {
    const conversation = new Conversation(environment);
    await conversation.start('first');
    await conversation.result();
    await conversation.start('hold');
    await held.begun();
    await conversation.handle.terminate();
    await environment.temporal.workflow.signalWithStart('agentTurn', {
      workflowId: conversation.workflowId,
      taskQueue: 'holdfast',
      args: [{ v: 1, ...conversation.names, message: other, messageId: other }],
      signal: 'sendMessage',
      signalArgs: [{ messageId: 'hold', message: 'hold' }],
    });
    if (other === 'first') held.release();
    await conversation.result();
    held.release();
    const { app, userId, sessionId } = conversation.names;
    const invocation = await environment.store.turns.findInvocation(
      conversation.names,
      invocationIdOf(app, userId, sessionId, 'hold'),
    );
    // Nobody goes on with what a new message has closed.
    expect(invocation?.status).toBe(other === 'first' ? 'completed' : 'interrupted');
    expect((await conversation.said()).slice(2)).toEqual(
      other === 'first'
        ? ['hold', 'hold()', '{"held":true}', 'answer to hold']
        : ['hold', 'hold()', expect.stringContaining('cut off'), 'second', 'answer to second'],
    );
  },
);

test('notes and the queue are seen at once, behind a call that takes long [message.enqueue]', async () => {
  const conversation = await holding();
  await conversation.send('waits');
  await conversation.send('no', { policy: 'reject' });
  const details = async () =>
    JSON.stringify(await conversation.handle.query<unknown>('__temporal_workflow_metadata'));
  await expect.poll(details).toMatch(/1 messages? waits?.*message no rejected/);
  held.release();
  await conversation.result();
});

test('a first step that its run has given up stays out, though the run goes on [store.fence]', async () => {
  const conversation = new Conversation(environment);
  await conversation.start('zombie');
  const call = async () => (await conversation.status()).running[0];
  await expect.poll(async () => (await call())?.tool).toBe('zombie');
  await conversation.handle.signal('cancelCall', { callKey: (await call())?.callKey });
  await held.begun();
  lateStep = {
    identity: { ...conversation.names, messageId: 'late' },
    invocationId: 'e-late',
    runKey: 'e-late',
    step: 1,
    fence: { startedAt: 0, invocation: 1 },
    seq: 0,
    message: { invocationId: 'e-late', author: 'user', actions: createEventActions() },
  };
  wakeUp.resolve();
  expect(await late.promise).toBe('HOLDFAST_FENCED');
  held.release();
  expect(await conversation.result()).toMatchObject({ status: 'completed' });
});
