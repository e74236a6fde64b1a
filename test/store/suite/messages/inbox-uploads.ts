import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { messageDigest } from '../../../../src/protocol/message.ts';
import type { MessageToKeep } from '../../../../src/protocol/step.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { MessageConflict } from '../../../../src/store/store-errors.ts';
import { watchingReads } from '../statements.ts';
import { newNames, Turn } from '../turns/turn.ts';
import { toKeep } from './inbox.ts';

export function inboxUploadSuite(store: () => PostgresStore): void {
  const keep = (names: SessionNames, messages: MessageToKeep[]) =>
    store().messages.keep({ ...names, startedAt: 1, messages });
  const kinds = async (names: SessionNames, messages: MessageToKeep[]) =>
    (await keep(names, messages)).map(({ kind }) => kind);

  test('uploaded content waits for its message, and is taken with it [message.large]', async () => {
    const names = newNames();
    const message = { role: 'user', parts: [{ text: 'é'.repeat(100_000) }] };
    const stateDelta = { 'temp:x': 1, y: 2 };
    const upload = { ...names, messageId: 'large', message, stateDelta };
    const { digest, bytes } = await store().messages.upload(upload);
    expect(digest).toBe(messageDigest(message, stateDelta));
    expect(bytes).toBe(Buffer.byteLength(JSON.stringify(message)));
    expect(await store().messages.upload(upload)).toEqual({ digest, bytes });
    expect(await store().messages.findWaiting(names, toKeep(names, 'large').invocationId)).toMatchObject({
      messageId: 'large',
      status: 'uploaded',
      digest,
    });
    const [row] = await store().messages.readInbox(names);
    expect(row).toMatchObject({ messageId: 'large', status: 'uploaded', digest, bytes });
    expect(Math.abs((row?.createdAt ?? 0) - Date.now())).toBeLessThan(60_000);

    const stored = toKeep(names, 'large', { stored: true, digest, place: 4, agent: 'clerk' });
    const wrong = { ...stored, digest: messageDigest('other') };
    expect(
      await kinds(names, [wrong, toKeep(names, 'gone', { stored: true }), stored, stored, wrong]),
    ).toEqual(['duplicate', 'missing', 'kept', 'kept', 'duplicate']);
    expect(await store().messages.readInbox(names)).toMatchObject([
      { status: 'waiting', place: 4, digest, bytes },
    ]);
    expect(await store().messages.upload({ ...upload, message: 'late' })).toMatchObject({
      digest: messageDigest('late', stateDelta),
    });
    const turn = new Turn(store(), { names, messageId: 'large' });
    const { events, state, asked } = await turn.opened(1, { fromInbox: true, digest });
    expect(asked).toEqual({ agent: 'clerk' });
    expect(events[0]?.event.content).toEqual(message);
    expect(events[0]?.event.actions.stateDelta).toEqual({ y: 2 });
    expect(state).toEqual({ 'temp:x': 1, y: 2 });
    await store().messages.upload(upload);
    expect(await store().messages.readInbox(names)).toEqual([]);
  });

  test('a turn is started with uploaded content, or with the same content sent along [message.large]', async () => {
    const names = newNames();
    const { digest } = await store().messages.upload({ ...names, messageId: 'm1', message: 'one' });
    const turn = new Turn(store(), { names, messageId: 'm1' });
    expect((await turn.opened(1, { fromInbox: true, digest })).events[0]?.event.content?.parts).toEqual([
      { text: 'one' },
    ]);
    await store().messages.upload({ ...names, messageId: 'm2', message: 'two' });
    expect(await kinds(names, [toKeep(names, 'm2', { message: 'three' })])).toEqual(['duplicate']);
    expect(await kinds(names, [toKeep(names, 'm2', { message: 'two' })])).toEqual(['kept']);
    expect(await store().messages.readInbox(names)).toMatchObject([{ messageId: 'm2', status: 'waiting' }]);
  });

  test('content is replaced until its message is accepted, and a start with the old one is refused [message.large]', async () => {
    const names = newNames();
    const upload = (message: string) => store().messages.upload({ ...names, messageId: 'm', message });
    const one = await upload('one');
    const other = await upload('another');
    expect(other).toEqual({ digest: messageDigest('another'), bytes: one.bytes + 4 });
    expect(await store().messages.readInbox(names)).toMatchObject([{ status: 'uploaded', ...other }]);
    const turn = new Turn(store(), { names, messageId: 'm' });
    const start = (digest: string) => turn.open(1, { fromInbox: true, digest });
    await expect(start(one.digest)).rejects.toBeInstanceOf(MessageConflict);
    expect(await kinds(names, [toKeep(names, 'm', { stored: true, digest: one.digest })])).toEqual([
      'duplicate',
    ]);
    expect(await kinds(names, [toKeep(names, 'm', { stored: true, digest: other.digest })])).toEqual([
      'kept',
    ]);
    await upload('one');
    await expect(start(one.digest)).rejects.toBeInstanceOf(MessageConflict);
    expect(await start(other.digest)).toMatchObject({ kind: 'open', seq: 1 });
    expect((await turn.events())[0]?.event.content?.parts).toEqual([{ text: 'another' }]);
    await expect(start(one.digest)).rejects.toBeInstanceOf(MessageConflict);
  });

  test('content of a message that was not sent is forgotten, an accepted one is not [message.large]', async () => {
    const names = newNames();
    for (const messageId of ['gone', 'kept']) {
      await store().messages.upload({ ...names, messageId, message: `text of ${messageId}` });
    }
    await keep(names, [toKeep(names, 'kept', { stored: true, digest: messageDigest('text of kept') })]);
    for (const messageId of ['gone', 'gone', 'kept', 'never'])
      await store().messages.forgetUpload(names, messageId);
    await store().messages.forgetUpload(newNames(), 'kept');
    const statuses = (await store().messages.readInbox(names)).map(({ messageId, status }) => [
      messageId,
      status,
    ]);
    expect(statuses).toEqual([['kept', 'waiting']]);
    expect(await store().messages.findWaiting(names, toKeep(names, 'gone').invocationId)).toBeUndefined();
    const { invocationId } = toKeep(names, 'kept');
    expect(await store().messages.findWaiting(names, invocationId)).toEqual(
      (await store().messages.readInbox(names))[0],
    );
    expect(await store().messages.findWaiting(newNames(), invocationId)).toBeUndefined();
  });

  test('notes and uploads that nobody comes for are dropped, what waits stays [message.enqueue]', async () => {
    const names = newNames();
    const id = (index: number) => `m${index}`;
    const ids = Array.from({ length: 130 }, (_, index) => id(index));
    for (const messageId of ids) {
      await keep(names, [toKeep(names, messageId, { rejected: 'full', digest: '' })]);
    }
    for (const messageId of ['sent', 'old', 'new']) {
      await store().messages.upload({ ...names, messageId, message: 'x' });
    }
    await keep(names, [toKeep(names, 'sent', { stored: true, digest: messageDigest('x') })]);
    await sql`update holdfast.inbox i set created_at = i.created_at - interval '31 days' from holdfast.sessions s
      where s.id = i.session_id and s.app = ${names.app} and i.message_id in ('sent', 'old')`.execute(
      store().db,
    );
    await keep(names, [toKeep(names, 'waits', { place: 9 })]);
    const left = (await store().messages.readInbox(names)).map(({ messageId }) => messageId);
    expect(left.slice(0, 3)).toEqual(['sent', 'waits', 'new']);
    expect(left).toHaveLength(103);
    // Those of one millisecond are in no order.
    expect(left).toEqual(expect.arrayContaining(ids.slice(40)));
    expect(left.filter((messageId) => ids.slice(0, 20).includes(messageId))).toEqual([]);
  });

  test('a first step reads what waits, not what was rejected or uploaded [store.read]', async () => {
    const names = newNames();
    for (let index = 0; index < 100; index += 1) {
      await keep(names, [toKeep(names, `no${index}`, { rejected: 'full' })]);
      await store().messages.upload({ ...names, messageId: `up${index}`, message: 'x' });
    }
    await keep(names, [toKeep(names, 'waits')]);
    const watched = await watchingReads(async () => {
      for (let nth = 0; nth < 8; nth += 1) {
        const { inbox } = await new Turn(store(), { names }).opened(1);
        expect(inbox.map(({ messageId }) => messageId)).toEqual(['waits']);
      }
    });
    expect(watched).toHaveLength(8);
    expect(Math.max(...watched.map(({ read }) => read.inbox ?? 0))).toBeLessThan(5);
  });

  test('a state delta that is no object is refused by its shape [message.acknowledged]', async () => {
    const names = newNames();
    const shapes: [unknown, string][] = [
      [['a'], 'an array'],
      ['{}', 'a string'],
      [7, 'a number'],
      [true, 'a boolean'],
    ];
    for (const [index, [stateDelta, shape]] of shapes.entries()) {
      const delta = stateDelta as Record<string, unknown>;
      const message = { ...toKeep(names, `m${index}`), stateDelta: delta };
      expect(await keep(names, [message])).toEqual([
        {
          messageId: `m${index}`,
          kind: 'refused',
          reason: expect.stringContaining(`stateDelta is ${shape}`),
        },
      ]);
      const upload = { ...names, messageId: 'up', message: 'x', stateDelta: delta };
      await expect(store().messages.upload(upload)).rejects.toMatchObject({
        code: 'HOLDFAST_UNSTORABLE',
        message: expect.stringContaining(shape),
      });
    }
    expect(await store().messages.readInbox(names)).toEqual([]);
  });
}
