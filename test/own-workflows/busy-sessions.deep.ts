import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { DEFAULT_TASK_QUEUE } from '../../src/protocol/names.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { calling, Speaking } from '../tree/speaking.ts';
import { Held } from './held.ts';
import { OwnWorker, replayed } from './own-worker.ts';

const openEnvironment = shareEnvironment();
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  own = undefined;
});

/** A session whose turn, of a client's message, holds until it is let go. */
async function busy() {
  const held = new Held();
  const speaking = new Speaking('root', [calling({ name: 'hold' }), 'first', 'second', 'third'], {
    tools: [held.tool],
  });
  const opened = await openEnvironment({
    agents: [speaking.agent],
    workerOptions: { taskQueue: DEFAULT_TASK_QUEUE },
  });
  own = new OwnWorker(opened);
  await own.start();
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await opened.client.sendMessage({ ...names, message: 'a client’s' });
  await expect.poll(() => held.started).toBe(1);
  const queued = async () => (await opened.client.status(names))?.queued;
  const texts = async () =>
    (await opened.store.sessions.readEvents(names)).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ text }) => text ?? []),
    );
  return { ...opened, own, held, speaking, names, turn, queued, texts };
}

test('a message to a session that answers another one waits for its turn, over a restart of both workers [flow.workflow.busy]', async () => {
  const { own, held, names, turn, queued, restartWorker, texts } = await busy();
  const handle = await own.begin('asks', { ...names, message: 'the workflow’s' });
  await expect.poll(queued).toBe(1);
  await own.stop();
  await restartWorker();
  await expect.poll(() => held.started).toBe(2);
  await own.start();
  held.letGo();
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    text: 'second',
    usage: { modelCalls: 1 },
  });
  expect(await turn.result()).toMatchObject({ text: 'first' });
  expect(await texts()).toEqual(['a client’s', 'first', 'the workflow’s', 'second']);
  await replayed(handle);
});

test('by its policy a message is refused, or ends what the session answers [flow.workflow.busy]', async () => {
  const { own, names, turn } = await busy();
  const refused = await own.begin('tellsFailure', { ...names, message: 'no', policy: 'reject' });
  expect(await refused.result()).toMatchObject({ error: 'rejected', type: 'HOLDFAST_MESSAGE_REJECTED' });
  const urgent = await own.begin('asks', { ...names, message: 'now', policy: 'interrupt' });
  expect(await urgent.result()).toMatchObject({ text: 'first' });
  expect(await turn.result()).toMatchObject({ status: 'interrupted' });
  await replayed(refused);
  await replayed(urgent);
});

test('a message that waits is withdrawn with its workflow: its turn ends as it begins [flow.workflow.busy]', async () => {
  const { own, held, speaking, names, turn, queued, client, texts } = await busy();
  const handle = await own.begin('givesUp', { ...names, message: 'never mind' });
  await expect.poll(queued).toBe(1);
  // Between two looks nothing of the activity runs that could hear of it.
  const attempts = async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt;
  await expect.poll(attempts).toBe(2);
  await handle.signal('stop');
  expect(await handle.result()).toMatchObject({ error: 'cancelled' });
  expect((await client.status(names))?.queued).toBe(1);
  held.letGo();
  expect(await turn.result()).toMatchObject({ text: 'first' });
  const later = await client.sendMessage({ ...names, message: 'later' });
  expect(await later.result()).toMatchObject({ text: 'second' });
  expect(await texts()).toEqual(['a client’s', 'first', 'never mind', 'later', 'second']);
  expect(speaking.shown).toHaveLength(3);
  await replayed(handle);
});

test('a turn of a busy session is ended with its workflow once it runs, and the session goes on [flow.workflow.busy]', async () => {
  const { own, held, speaking, names, turn, queued, client } = await busy();
  speaking.replies = [calling({ name: 'hold' }), 'first', calling({ name: 'hold' }), 'third'];
  const handle = await own.begin('asks', { ...names, message: 'the workflow’s' });
  await expect.poll(queued).toBe(1);
  held.letGo();
  held.holdAgain();
  await expect.poll(() => held.started).toBe(2);
  expect(await turn.result()).toMatchObject({ text: 'first' });
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  const later = await client.sendMessage({ ...names, message: 'later' });
  expect(await later.result()).toMatchObject({ text: 'third' });
});

test('messages of others are answered before a workflow goes on, or after its own turn [flow.workflow.busy]', async () => {
  const { own, held, speaking, names, turn, client, queued } = await busy();
  held.letGo();
  await turn.result();
  const hold = () => calling({ name: 'hold' });
  // Alone: the workflow waits for what others have asked meanwhile.
  speaking.replies = [...Array(2).fill(''), hold(), 'own', 'other'];
  held.holdAgain();
  const alone = await own.begin('asks', { ...names, message: 'own' });
  await expect.poll(() => held.started).toBe(2);
  const other = await client.sendMessage({ ...names, message: 'other' });
  await expect.poll(queued).toBe(1);
  held.letGo();
  expect(await alone.result()).toMatchObject({ text: 'own' });
  expect(await other.result()).toMatchObject({ text: 'other' });
  // Among others: it goes on, and may close, while they are answered.
  speaking.replies = [...Array(5).fill(''), hold(), 'own', hold(), 'other'];
  held.holdAgain();
  const among = await own.begin('asksAmongOthers', { ...names, message: 'own' });
  await expect.poll(() => held.started).toBe(3);
  const another = await client.sendMessage({ ...names, message: 'another' });
  await expect.poll(queued).toBe(1);
  held.letGo();
  held.holdAgain();
  expect(await among.result()).toBe('own');
  await expect.poll(() => held.started).toBe(4);
  held.letGo();
  expect(await another.result()).toMatchObject({ status: 'completed', text: 'other' });
  await replayed(alone);
  await replayed(among);
});
