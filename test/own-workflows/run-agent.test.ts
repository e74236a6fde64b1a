import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/protocol/names.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { calling, Speaking } from '../tree/speaking.ts';
import { Held } from './held.ts';
import { OwnWorker, replayed } from './own-worker.ts';

const openEnvironment = shareEnvironment();
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  own = undefined;
});

async function open(...agents: BaseAgent[]) {
  const opened = await openEnvironment({ agents, workerOptions: { taskQueue: DEFAULT_TASK_QUEUE } });
  own = new OwnWorker(opened);
  await own.start();
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  return { ...opened, own, names };
}

test('a turn is a child of a workflow of the user’s, whose answer it gets [flow.workflow]', async () => {
  const speaking = new Speaking('root', ['hello']);
  const { own, names, store, temporal } = await open(speaking.agent);
  const handle = await own.begin('asks', { ...names, message: 'hi', content: true });
  const answer = await handle.result();
  expect(answer).toMatchObject({
    status: 'completed',
    text: 'hello',
    content: { role: 'model', parts: [{ text: 'hello' }] },
    usage: { modelCalls: 1 },
  });
  const events = await store.sessions.readEvents(names);
  expect(events.map(({ event }) => [event.author, event.invocationId])).toEqual([
    ['user', answer.invocationId],
    ['root', answer.invocationId],
  ]);
  const run = await temporal.workflow.getHandle(`test/ada/${names.sessionId}`).describe();
  expect(run.raw.workflowExecutionInfo?.parentExecution?.workflowId).toBe(handle.workflowId);
  expect(run.searchAttributes.HoldfastSession).toEqual([names.sessionId]);
  await replayed(handle);
});

if (isDeep) {
  test('the text of an answer comes whole, also where the store has it, and a value by its schema [flow.workflow]', async () => {
    const long = 'x'.repeat(20_000);
    const speaking = new Speaking('root', [long, 'y'.repeat(70_000)]);
    const structured = new Speaking('structured', ['{"n":1}'], {
      outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    });
    const { own, names } = await open(speaking.agent, structured.agent);
    const first = await own.begin('asks', { ...names, message: 'hi' });
    expect((await first.result()).text).toBe(long);
    const second = await own.begin('asks', { ...names, message: 'more' });
    expect(await second.result()).toMatchObject({ text: '', reference: { bytes: 70_002 } });
    const third = await own.begin('asks', { ...names, message: 'n', agent: 'structured' });
    expect(await third.result()).toMatchObject({ text: '{"n":1}', output: { n: 1 } });
    for (const handle of [first, second, third]) await replayed(handle);
  });
}

if (isDeep) {
  test('several turns one after another and at once, and one message id is one turn [flow.workflow]', async () => {
    const speaking = new Speaking('root', ['one', 'two', 'three']);
    const { own, names } = await open(speaking.agent);
    const often = await own.begin('asksOften', names, ['a', 'b', 'c']);
    expect(await often.result()).toEqual(['one', 'two', 'three']);
    const many = await own.begin('asksMany', { ...names, message: 'hi' }, 8);
    expect(await many.result()).toEqual(Array.from({ length: 8 }, () => 'three'));
    expect(speaking.shown).toHaveLength(11);
    const again = { ...names, message: 'hi', messageId: 'm1' };
    const [once, twice] = [await own.begin('asks', again), await own.begin('asks', again)];
    expect((await once.result()).invocationId).toBe((await twice.result()).invocationId);
    expect(speaking.shown).toHaveLength(12);
    await replayed(often);
    await replayed(many);
  });
}

test('a workflow that continues as new between two turns goes on [flow.workflow]', async () => {
  const speaking = new Speaking('root', ['one', 'two', 'three']);
  const { own, names, temporal } = await open(speaking.agent);
  const handle = await own.begin('asksAndGoesOn', names, 3);
  expect(await handle.result()).toEqual(['one', 'two', 'three']);
  expect(speaking.shown.at(-1)).toHaveLength(5);
  await replayed(temporal.workflow.getHandle(handle.workflowId));
});

test('a failure, wrong arguments and a message that is too large are told by their class [flow.workflow]', async () => {
  const failing = new Speaking('root', [
    () => {
      throw Object.assign(new Error('no such model'), { retryable: false });
    },
  ]);
  const { own, names } = await open(failing.agent);
  const failed = await own.begin('tellsFailure', { ...names, message: 'hi' });
  expect(await failed.result()).toMatchObject({
    error: 'failed',
    type: 'AgentTurnFailed',
    turn: { status: 'failed', error: { message: expect.stringContaining('no such model') } },
  });
  const escaped = await own.begin('asks', { ...names, message: 'hi' });
  await expect(escaped.result()).rejects.toMatchObject({ cause: { type: 'AgentTurnFailed' } });
  const nobody = await own.begin('asks', { ...names, userId: '', message: 'hi' });
  await expect(nobody.result()).rejects.toMatchObject({
    cause: {
      type: 'InvalidTurn',
      message: expect.stringContaining('runAgent: userId: expected a non-empty string'),
    },
  });
  const empty = await own.begin('asks', { ...names, message: '' });
  await expect(empty.result()).rejects.toMatchObject({
    cause: { type: 'InvalidTurn', message: expect.stringContaining('message: ') },
  });
  const large = await own.begin('asks', { ...names, message: 'x'.repeat(70_000) });
  await expect(large.result()).rejects.toMatchObject({
    cause: { type: 'InvalidTurn', message: expect.stringContaining('at most 65536 travel') },
  });
  await replayed(failed);
});

if (isDeep) {
  test('a turn waits for an approval, with both workers gone meanwhile [flow.workflow]', async () => {
    const runs: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: 'd',
      requireConfirmation: true,
      execute: () => {
        runs.push(1);
        return { paid: true };
      },
    });
    const speaking = new Speaking('root', [calling({ name: 'pay' }), 'paid'], { tools: [pay] });
    const { own, names, client, restartWorker } = await open(speaking.agent);
    const handle = await own.begin('asks', { ...names, message: 'pay' });
    await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
    await own.stop();
    await restartWorker();
    const [request] = await client.approvals.list(names);
    await client.approvals.confirm({ ...names, requestId: request?.requestId ?? '' }, { confirmed: true });
    await own.start();
    expect(await handle.result()).toMatchObject({ text: 'paid' });
    expect(runs).toHaveLength(1);
    await replayed(handle);
  });
}

if (isDeep) {
  test('cancelling the workflow, or the scope of the call, ends the turn [flow.workflow.cancel]', async () => {
    const held = new Held();
    const speaking = new Speaking('root', [calling({ name: 'hold' })], { tools: [held.tool] });
    const { own, names, client, temporal } = await open(speaking.agent);
    const cancelled = await own.begin('asks', { ...names, message: 'hi' });
    await expect.poll(() => held.started).toBe(1);
    await cancelled.cancel();
    await expect(cancelled.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(await client.status(names)).toBeUndefined();
    for (const [count, parentClosePolicy] of [
      [2, 'REQUEST_CANCEL'],
      [3, 'ABANDON'],
    ] as const) {
      const goesOn = await own.begin('givesUp', { ...names, message: 'hi', parentClosePolicy });
      await expect.poll(() => held.started).toBe(count);
      await goesOn.signal('stop');
      expect(await goesOn.result()).toMatchObject({ error: 'cancelled' });
      expect(await client.status(names)).toBeUndefined();
      await replayed(goesOn);
    }
    expect(held.aborted).toBe(3);
    const failing = await own.begin('failsMeanwhile', { ...names, message: 'hi' });
    await expect.poll(() => held.started).toBe(4);
    await failing.signal('stop');
    await expect(failing.result()).rejects.toThrow();
    await expect.poll(() => held.aborted).toBe(4);
    const ended = await own.begin('tellsFailure', { ...names, message: 'hi' });
    await expect.poll(() => held.started).toBe(5);
    await temporal.workflow.getHandle(`test/ada/${names.sessionId}`).terminate();
    expect(await ended.result()).toMatchObject({
      error: 'interrupted',
      turn: { error: { code: 'TERMINATED' } },
    });
  });
}
