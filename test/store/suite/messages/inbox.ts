import { expect, test } from 'vitest';
import { invocationIdOf } from '../../../../src/protocol/identity.ts';
import { messageDigest } from '../../../../src/protocol/message.ts';
import type { MessageToKeep } from '../../../../src/protocol/step.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { MessageConflict, StoreBehindHistory } from '../../../../src/store/store-errors.ts';
import { newNames, nextFence, Turn, USAGE } from '../turns/turn.ts';

/** What a workflow knows of a message that it accepts. */
export function toKeep(
  { app, userId, sessionId }: SessionNames,
  messageId: string,
  more: Partial<MessageToKeep> = {},
): MessageToKeep {
  const message = more.message ?? `text of ${messageId}`;
  return {
    messageId,
    invocationId: invocationIdOf(app, userId, sessionId, messageId),
    place: 1,
    digest: messageDigest(message, more.stateDelta),
    bytes: 20,
    ...(more.stored || more.rejected ? {} : { message }),
    ...more,
  };
}

export function inboxSuite(store: () => PostgresStore): void {
  const keep = (names: SessionNames, messages: MessageToKeep[], startedAt = 1) =>
    store().messages.keep({ ...names, startedAt, messages });
  const kinds = async (names: SessionNames, messages: MessageToKeep[], startedAt?: number) =>
    (await keep(names, messages, startedAt)).map(({ kind }) => kind);

  test('a message of the inbox begins its turn like one that was sent along [message.acknowledged]', async () => {
    const content = { parts: [{ text: 'hi', thoughtSignature: 'x' }, { text: 'you' }] };
    const stateDelta = { 'temp:t': [1], kept: { z: 1, a: null }, 'user:u': 2 };
    const sent = new Turn(store());
    await sent.store.turns.openStep({
      identity: { ...sent.names, messageId: sent.messageId },
      invocationId: sent.invocationId,
      runKey: sent.invocationId,
      step: 1,
      fence: sent.fence,
      seq: 0,
      message: {
        invocationId: sent.invocationId,
        author: 'user',
        content: { ...content, role: 'user' },
        actions: { stateDelta, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
      },
    });
    const kept = new Turn(store());
    const message = toKeep(kept.names, kept.messageId, {
      message: content,
      stateDelta,
      agent: 'clerk',
      runConfig: { maxLlmCalls: 3 },
    });
    expect(await keep(kept.names, [message])).toEqual([{ messageId: kept.messageId, kind: 'kept' }]);
    const opened = await kept.opened(1, { fromInbox: true });
    expect(opened).toMatchObject({
      seq: 1,
      from: 1,
      asked: { agent: 'clerk', runConfig: { maxLlmCalls: 3 } },
      inbox: [],
      state: stateDelta,
    });
    const [one, other] = await Promise.all([sent.events(), kept.events()]);
    const shape = (event: unknown, { invocationId }: Turn) =>
      JSON.stringify(event).replaceAll(invocationId, 'e-');
    const { id: _id, timestamp: _time, ...given } = one[0]?.event ?? {};
    expect(other).toEqual([{ ...one[0], runKey: kept.invocationId, event: expect.anything() }]);
    expect(shape({ ...other[0]?.event, id: undefined, timestamp: undefined }, kept)).toBe(shape(given, sent));
    expect(await store().turns.findInvocation(kept.names, kept.invocationId)).toMatchObject({
      messageId: kept.messageId,
      status: 'running',
    });
    expect(await store().messages.readInbox(kept.names)).toEqual([]);
  });

  test('an attempt that is repeated is told the same, the message is appended once [message.acknowledged]', async () => {
    const names = newNames();
    const turn = new Turn(store(), { names, messageId: 'm1' });
    await keep(names, [
      toKeep(names, 'm1', { agent: 'clerk', message: '{"a":"b"}' }),
      toKeep(names, 'm2', { agent: 'other', runConfig: { streamingMode: 'sse' }, place: 2, bytes: 7 }),
    ]);
    const first = await turn.opened(1, { fromInbox: true });
    expect(first.inbox).toEqual([
      {
        messageId: 'm2',
        invocationId: invocationIdOf(names.app, names.userId, names.sessionId, 'm2'),
        agent: 'other',
        runConfig: { streamingMode: 'sse' },
        place: 2,
        digest: messageDigest('text of m2'),
        bytes: 7,
      },
    ]);
    const again = await turn.opened(1, { fromInbox: true });
    expect(again).toMatchObject({ attempt: 2, asked: { agent: 'clerk' }, inbox: first.inbox });
    expect(again.events).toEqual(first.events);
    await turn.commit(1, 1);
    expect(await turn.open(1, { fromInbox: true })).toMatchObject({ kind: 'recorded', inbox: first.inbox });
    await turn.settle(1, 0, { ok: true });
    expect(await turn.opened(2)).toMatchObject({ inbox: [], asked: { agent: 'clerk' } });
    await turn.commit(2, 0);
    expect(await turn.open(1, { fromInbox: true })).toMatchObject({ kind: 'finished', inbox: first.inbox });
    expect(await turn.open(1)).toMatchObject({ kind: 'finished', inbox: first.inbox });
    const next = new Turn(store(), { names, messageId: 'm2' });
    expect(await next.opened(1, { fromInbox: true })).toMatchObject({
      inbox: [],
      asked: { agent: 'other', runConfig: { streamingMode: 'sse' } },
    });
    expect((await next.events()).map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'responses',
      'model',
      'message',
    ]);
  });

  test('messages of older chains come first, those of one chain by their places [message.acknowledged]', async () => {
    const names = newNames();
    await keep(names, [toKeep(names, 'b2', { place: 2 }), toKeep(names, 'b1', { place: 1 })], 20);
    await keep(names, [toKeep(names, 'b0', { place: -1.5 })], 20);
    await keep(names, [toKeep(names, 'a9', { place: 9 })], 10);
    await store().messages.upload({ ...names, messageId: 'up', message: 'up' });
    await keep(names, [toKeep(names, 'no', { rejected: 'full' })]);
    const { inbox } = await new Turn(store(), { names }).opened(1);
    expect(inbox.map(({ messageId }) => messageId)).toEqual(['a9', 'b0', 'b1', 'b2']);
    expect(
      (await store().messages.readInbox(names)).map(({ messageId, status }) => [messageId, status]),
    ).toEqual([
      ['a9', 'waiting'],
      ['b0', 'waiting'],
      ['b1', 'waiting'],
      ['b2', 'waiting'],
      ['up', 'uploaded'],
      ['no', 'rejected'],
    ]);
    expect((await new Turn(store(), { names: newNames() }).opened(1)).inbox).toEqual([]);
  });

  test('a message that was accepted behind others gives way to them, and writes nothing [message.acknowledged]', async () => {
    const names = newNames();
    await keep(names, [toKeep(names, 'a2', { place: 2 }), toKeep(names, 'a1', { place: 1 })], 10);
    await keep(names, [toKeep(names, 'b1', { place: 1 })], 20);
    await store().messages.upload({ ...names, messageId: 'up', message: 'up' });
    const begin = (messageId: string, more: Parameters<Turn['open']>[1] = {}) =>
      new Turn(store(), { names, messageId }).open(1, { mayGiveWay: true, ...more });
    const sentAlong = { text: 'text of a2', digest: messageDigest('text of a2') };
    for (const how of [{ fromInbox: true }, sentAlong]) {
      const told = await begin('a2', how);
      expect(told).toMatchObject({ kind: 'behind', seq: 0 });
      expect(told.inbox.map(({ messageId }) => messageId)).toEqual(['a1', 'a2', 'b1']);
      expect(told.inbox).toMatchObject([
        { place: 1 },
        { digest: messageDigest('text of a2'), bytes: 20 },
        {},
      ]);
    }
    expect(await begin('b1', { fromInbox: true })).toMatchObject({ kind: 'behind' });
    expect(
      await store().turns.findInvocation(names, new Turn(store(), { names, messageId: 'a2' }).invocationId),
    ).toBe(undefined);
    expect(await store().sessions.readEvents(names)).toEqual([]);
    expect(await store().messages.readInbox(names)).toHaveLength(4);
    const other = { text: 'another', digest: messageDigest('another') };
    await expect(begin('a2', other)).rejects.toBeInstanceOf(MessageConflict);

    // The older ones that wait go on waiting for one that nobody has accepted yet.
    expect(await begin('up', { fromInbox: true })).toMatchObject({ kind: 'open', inbox: { length: 3 } });
    expect(await begin('new')).toMatchObject({ kind: 'open', inbox: { length: 3 } });
    expect(await begin('a1', { fromInbox: true })).toMatchObject({ kind: 'open', inbox: { length: 2 } });
    expect(await begin('a2', sentAlong)).toMatchObject({ kind: 'open', inbox: [{ messageId: 'b1' }] });
    expect(await begin('a2', sentAlong)).toMatchObject({ kind: 'open', attempt: 2 });
  });

  test('a message gives way to none that it goes before: as one that interrupts, or of its own chain', async () => {
    const names = newNames();
    const fence = nextFence();
    await keep(names, [toKeep(names, 'a', { place: 1 })], 10);
    await keep(names, [toKeep(names, 'urgent', { place: -5 })], 20);
    await keep(names, [toKeep(names, 'own', { place: 1 })], fence.startedAt);
    const begin = (messageId: string) =>
      new Turn(store(), { names, messageId, fence }).opened(1, { mayGiveWay: true, fromInbox: true });
    expect(await begin('own')).toMatchObject({ inbox: [{ messageId: 'a' }, { messageId: 'urgent' }] });
    fence.startedAt = nextFence().startedAt;
    expect(await begin('urgent')).toMatchObject({ inbox: [{ messageId: 'a' }] });
  });

  test('a message is kept once, its id is good for one content [message.acknowledged]', async () => {
    const names = newNames();
    const first = toKeep(names, 'm1', { place: 1 });
    expect(await kinds(names, [first, toKeep(names, 'm2', { place: 2 })])).toEqual(['kept', 'kept']);
    const later = { ...first, place: 9 };
    const other = toKeep(names, 'm1', { message: 'another' });
    expect(await kinds(names, [later, other], 5)).toEqual(['kept', 'duplicate']);
    const turn = new Turn(store(), { names, messageId: 'm1' });
    const { inbox, events } = await turn.opened(1, { fromInbox: true });
    expect(inbox).toMatchObject([{ messageId: 'm2', place: 2 }]);
    expect(events[0]?.event.content).toEqual({ parts: [{ text: 'text of m1' }], role: 'user' });
    const stored = toKeep(names, 'm1', { stored: true, digest: first.digest });
    expect(await kinds(names, [first, other, stored])).toEqual(['known', 'duplicate', 'known']);
    await turn.commit(1, 0);
    expect(await kinds(names, [first, other, toKeep(names, 'm1', { rejected: 'full', digest: '' })])).toEqual(
      ['known', 'duplicate', 'known'],
    );
    expect(await store().messages.readInbox(names)).toHaveLength(1);
  });

  test('a message that its own chain has begun is told apart: the chain was reset [steer.reset]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const message = toKeep(turn.names, turn.messageId, { message: 'hi' });
    const { startedAt } = turn.fence;
    expect(await kinds(turn.names, [message], startedAt)).toEqual(['reset']);
    // One that an earlier chain has begun and not ended is gone on with likewise; it is none of a later chain's, or once it has ended.
    expect(await kinds(turn.names, [message], startedAt + 1)).toEqual(['reset']);
    expect(await kinds(turn.names, [message], startedAt - 1)).toEqual(['known']);
    await turn.commit(1, 0);
    expect(await kinds(turn.names, [message], startedAt + 1)).toEqual(['known']);
  });

  test('a turn that is started with a message takes the row that the message has [turn.messageId]', async () => {
    const names = newNames();
    await keep(names, [
      toKeep(names, 'm1', { agent: 'clerk', message: 'hi' }),
      toKeep(names, 'm2', { place: 2 }),
    ]);
    const turn = new Turn(store(), { names, messageId: 'm1' });
    const opened = await turn.opened(1, { digest: messageDigest('hi') });
    expect(opened).toMatchObject({ asked: { agent: 'clerk' }, inbox: [{ messageId: 'm2' }] });
    expect(await store().messages.readInbox(names)).toHaveLength(1);
    // Nobody was told that these are accepted.
    await store().messages.upload({ ...names, messageId: 'm3', message: 'uploaded' });
    await keep(names, [toKeep(names, 'm4', { rejected: 'full' })]);
    for (const messageId of ['m3', 'm4']) {
      await new Turn(store(), { names, messageId }).opened(1, { digest: messageDigest('hi') });
    }
    expect((await store().messages.readInbox(names)).map(({ messageId }) => messageId)).toEqual(['m2']);
  });

  test('a turn with the message id of another content is refused, whatever became of that [turn.messageId]', async () => {
    const names = newNames();
    const start = (messageId: string, text: string) =>
      new Turn(store(), { names, messageId }).open(1, { text, digest: messageDigest(text) });
    await keep(names, [toKeep(names, 'waits', { message: 'one' })]);
    await expect(start('waits', 'two')).rejects.toBeInstanceOf(MessageConflict);
    await expect(start('waits', 'two')).rejects.toMatchObject({
      code: 'HOLDFAST_MESSAGE_CONFLICT',
      retryable: false,
      message: expect.stringContaining('waits'),
    });
    expect(await store().messages.readInbox(names)).toMatchObject([
      { messageId: 'waits', status: 'waiting' },
    ]);
    expect(await start('waits', 'one')).toMatchObject({ kind: 'open', seq: 1 });
    await expect(start('waits', 'two')).rejects.toBeInstanceOf(MessageConflict);
    const turn = new Turn(store(), { names, messageId: 'ends' });
    await turn.opened(1, { text: 'one', digest: messageDigest('one') });
    await turn.commit(1, 0);
    await expect(start('ends', 'two')).rejects.toBeInstanceOf(MessageConflict);
    expect(await start('ends', 'one')).toMatchObject({ kind: 'finished' });
    expect(await new Turn(store(), { names, messageId: 'ends' }).open(1)).toMatchObject({ kind: 'finished' });
    await store().messages.upload({ ...names, messageId: 'up', message: 'one' });
    const uploaded = new Turn(store(), { names, messageId: 'up' });
    await expect(uploaded.open(1, { fromInbox: true, digest: messageDigest('two') })).rejects.toBeInstanceOf(
      MessageConflict,
    );
    expect(await turn.events()).toHaveLength(3);
  });

  test('a turn whose message is nowhere is a store that is behind', async () => {
    const turn = new Turn(store());
    await expect(turn.open(1, { fromInbox: true })).rejects.toBeInstanceOf(StoreBehindHistory);
    expect(await store().sessions.find(turn.names)).toBeUndefined();
    await keep(turn.names, [toKeep(turn.names, 'another')]);
    await expect(turn.open(1, { fromInbox: true })).rejects.toBeInstanceOf(StoreBehindHistory);
    await keep(turn.names, [toKeep(turn.names, turn.messageId, { rejected: 'full' })]);
    await expect(turn.open(1, { fromInbox: true })).rejects.toBeInstanceOf(StoreBehindHistory);
    expect(await turn.events()).toEqual([]);
  });

  test('a rejected message leaves a note, and can be sent again [message.enqueue]', async () => {
    const names = newNames();
    const rejected = (reason: string) => toKeep(names, 'm1', { rejected: reason, digest: '', bytes: 0 });
    expect(await kinds(names, [rejected('busy')])).toEqual(['kept']);
    expect(await kinds(names, [rejected('queue full: \0')])).toEqual(['kept']);
    expect(await store().messages.readInbox(names)).toMatchObject([
      { messageId: 'm1', status: 'rejected', reason: 'queue full: \ufffd', bytes: 0 },
    ]);
    expect((await new Turn(store(), { names }).opened(1)).inbox).toEqual([]);
    expect(await kinds(names, [toKeep(names, 'm1', { stored: true })])).toEqual(['missing']);
    await store().messages.upload({ ...names, messageId: 'm1', message: 'text of m1' });
    expect(await kinds(names, [toKeep(names, 'm1', { stored: true })])).toEqual(['kept']);
    // What was accepted stays so.
    expect(await kinds(names, [rejected('busy')])).toEqual(['kept']);
    const [row] = await store().messages.readInbox(names);
    expect(row).toMatchObject({ messageId: 'm1', status: 'waiting' });
    expect(row).not.toHaveProperty('reason');
    await store().messages.upload({ ...names, messageId: 'm2', message: 'content' });
    expect(await kinds(names, [toKeep(names, 'm2', { rejected: 'full' })])).toEqual(['kept']);
    const turn = new Turn(store(), { names, messageId: 'm2' });
    await expect(turn.open(1, { fromInbox: true })).rejects.toBeInstanceOf(StoreBehindHistory);
  });

  test('a message that can not be stored is refused and holds up no other [message.acknowledged]', async () => {
    const names = newNames();
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 8_000; level += 1) deep = { deep };
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    const part = (args: Record<string, unknown>) => ({ parts: [{ functionResponse: { response: args } }] });
    const bad = 'a\0b\ud800c';
    const messages = [
      toKeep(names, 'm1', { message: bad, stateDelta: { [bad]: bad }, place: 1 }),
      toKeep(names, 'deep', { message: 'x', digest: 'd' }),
      toKeep(names, 'circle', { message: 'x', digest: 'c' }),
      { ...toKeep(names, 'bad'), messageId: 'bad\0' },
      { ...toKeep(names, 'lone'), messageId: 'lone\ud800' },
      toKeep(names, 'empty', { digest: 'e' }),
      toKeep(names, 'm2', { place: 2 }),
    ];
    Object.assign(messages[1] as object, { message: part(deep) });
    Object.assign(messages[2] as object, { message: part(circle) });
    Object.assign(messages[5] as object, { message: undefined });
    expect(await keep(names, messages)).toEqual([
      { messageId: 'm1', kind: 'kept' },
      { messageId: 'deep', kind: 'refused', reason: expect.stringContaining('nested') },
      { messageId: 'circle', kind: 'refused', reason: expect.stringContaining('circle') },
      { messageId: 'bad\0', kind: 'refused', reason: expect.stringContaining('messageId') },
      { messageId: 'lone\ud800', kind: 'refused', reason: expect.stringContaining('messageId') },
      { messageId: 'empty', kind: 'refused', reason: expect.stringContaining('content') },
      { messageId: 'm2', kind: 'kept' },
    ]);
    const turn = new Turn(store(), { names, messageId: 'm1' });
    const { events, state, inbox } = await turn.opened(1, { fromInbox: true });
    const good = 'a\ufffdb\ufffdc';
    expect(events[0]?.event.content?.parts).toEqual([{ text: good }]);
    expect(state).toEqual({ [good]: good });
    expect(inbox.map(({ messageId }) => messageId)).toEqual(['m2']);
    expect(await keep(names, [messages[1] as MessageToKeep])).toMatchObject([{ kind: 'refused' }]);
    expect(await keep(names, [])).toEqual([]);
    const upload = { ...names, messageId: 'bad\0', message: 'x' };
    await expect(store().messages.upload(upload)).rejects.toMatchObject({ code: 'HOLDFAST_UNSTORABLE' });
  });

  test('an invocation that ends before it began has its message in the transcript [message.interrupt]', async () => {
    const names = newNames();
    const first = new Turn(store(), { names });
    await first.opened(1);
    await keep(names, [toKeep(names, 'm2', { stateDelta: { seen: 1 }, place: 1 })]);
    await first.commit(1, 0);
    const fence = { ...first.fence, invocation: 2 };
    const second = new Turn(store(), { names, messageId: 'm2', fence });
    Object.assign(second, { session: first.session, seq: 2 });
    const ended = await second.end(1, [], { status: 'interrupted', usage: USAGE });
    expect(ended).toEqual({
      seq: 3,
      from: 3,
      outcome: {
        status: 'interrupted',
        usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
      },
    });
    expect((await second.events()).at(-1)).toMatchObject({
      kind: 'message',
      runKey: second.invocationId,
      event: { author: 'user', content: { parts: [{ text: 'text of m2' }] } },
    });
    expect(await store().turns.findInvocation(names, second.invocationId)).toMatchObject({ messageId: 'm2' });
    expect(await second.open(1, { fromInbox: true })).toMatchObject({ kind: 'finished', inbox: [] });
    expect((await new Turn(store(), { names }).opened(1)).state).toEqual({ seen: 1 });
    expect(await store().messages.readInbox(names)).toEqual([]);
  });

  test('20 keep one message while its turn begins: it is waiting before and known after, appended once', async () => {
    const names = newNames();
    await keep(names, [toKeep(names, 'm')]);
    const fence = nextFence();
    const [opened, ...kept] = await Promise.all([
      new Turn(store(), { names, messageId: 'm', fence }).opened(1, { fromInbox: true }),
      ...Array.from({ length: 20 }, () => kinds(names, [toKeep(names, 'm')])),
    ]);
    for (const [kind] of kept) expect(['kept', 'known']).toContain(kind);
    expect(opened.events).toHaveLength(1);
    expect(await store().messages.readInbox(names)).toEqual([]);
    expect(await store().sessions.readEvents(names)).toHaveLength(1);
  });
}
