import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { AWAIT_TURN, DEFAULT_TASK_QUEUE, READ_ANSWER, READ_DECISION } from '../../src/protocol/names.ts';
import { GARBAGE, GarbageAnswers, garbage } from '../setup/garbage-answers.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { calling, Speaking } from '../tree/speaking.ts';
import { Held } from './held.ts';
import { OwnWorker, replayed } from './own-worker.ts';

const answers = new GarbageAnswers();
const openEnvironment = shareEnvironment();
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  own = undefined;
  answers.clear();
});

async function open(...given: ConstructorParameters<typeof Speaking>) {
  const opened = await openEnvironment({
    agents: [new Speaking(...given).agent],
    workerOptions: {
      taskQueue: DEFAULT_TASK_QUEUE,
      interceptors: { activity: [answers.interceptors] },
    },
  });
  own = new OwnWorker(opened);
  await own.start();
  return { ...opened, own, names: { app: 'test', userId: 'ada', sessionId: randomUUID() } };
}

/** A workflow of a user's own ends by it, and says why. */
async function expectFails(handle: WorkflowHandle, activity: string, value: unknown): Promise<void> {
  const failure = await handle.result().catch((thrown: unknown) => thrown);
  const { type, message } = (failure as { cause: { type: string; message: string } }).cause;
  expect([value, type]).toEqual([value, 'HOLDFAST_UNUSABLE_RESULT']);
  expect(message).toContain(`activity ${activity} gave a result that can’t be used: result`);
  expect(message).not.toContain('planted');
  await replayed(handle);
}

test('garbage in the place of an answer fails the workflow that wanted it [garbage.workflow]', async () => {
  const { own, names } = await open('root', ['hello']);
  // An object without anything is an answer that is too large.
  for (const value of GARBAGE.filter(
    (one) => typeof one !== 'object' || one === null || Array.isArray(one),
  ).slice(0, inTier(2, GARBAGE.length))) {
    answers.plant(READ_ANSWER, value);
    const handle = await own.begin('asks', { ...names, message: 'hi', content: true });
    await expectFails(handle, READ_ANSWER, value);
  }
  const handle = await own.begin('asks', { ...names, message: 'hi', content: true });
  expect(await handle.result()).toMatchObject({ status: 'completed', text: 'hello' });
});

if (isDeep) {
  test('garbage in the place of a decision, too [garbage.workflow]', async () => {
    const { own, client, store } = await open('root', ['hello']);
    for (const value of garbage(1)) {
      answers.plant(READ_DECISION, value);
      const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
      const handle = await own.begin('asksPeople', { ...names, hint: 'Publish?' });
      await expect.poll(async () => (await store.approvals.list(names)).length).toBe(1);
      const [request] = await store.approvals.list(names);
      await client.approvals.confirm({ requestId: request?.requestId ?? '' }, { confirmed: true });
      await expectFails(handle, READ_DECISION, value);
    }
  });
}

if (isDeep) {
  test('garbage in the place of a turn that was waited for, too; the session goes on [garbage.workflow]', async () => {
    const held = new Held();
    const replies = [calling({ name: 'hold' }), 'first', 'next'];
    const { own, names, client, run } = await open('root', replies, { tools: [held.tool] });
    const turn = await client.sendMessage({ ...names, message: 'a client’s' });
    await expect.poll(() => held.started).toBe(1);
    for (const value of garbage(2)) {
      answers.plant(AWAIT_TURN, value);
      const handle = await own.begin('asks', { ...names, message: 'the workflow’s' });
      const failure = await handle.result().catch((thrown: unknown) => thrown);
      const { type, message } = (failure as { cause: { type: string; message: string } }).cause;
      expect([value, type]).toEqual([value, 'HOLDFAST_UNUSABLE_RESULT']);
      expect(message).not.toContain('planted');
      await replayed(handle);
    }
    held.letGo();
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'first' });
    expect((await run({ ...names, message: 'and now?' })).result).toMatchObject({ status: 'completed' });
  });
}
