import { expect, test } from 'vitest';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { newNames, Turn } from '../turns/turn.ts';

export function rewindSuite(store: () => PostgresStore): void {
  async function turn(names: SessionNames, stateDelta: Record<string, unknown> = {}, agent = 'clerk') {
    const made = new Turn(store(), { names });
    await made.opened(1, { stateDelta });
    await made.commit(1, 0, { agent });
    return made;
  }

  test('a rewind appends ADK’s marker and restores the state of the session, no other [session.rewind]', async () => {
    const names = newNames();
    await turn(names, { kept: { a: 1 }, changed: 1, 'app:x': 1, 'user:y': 1 });
    const two = await turn(names, { changed: 2, added: [1], 'app:x': 2, 'user:y': 2, 'temp:z': 1 }, 'boss');
    await turn(names, { added: [2] });
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    const marker = await store().sessions.rewind({ ...names, beforeInvocationId: two.invocationId });
    stop();
    expect(marker).toEqual({
      seq: 7,
      kind: 'rewind',
      runKey: marker.event.invocationId,
      step: 0,
      hidesAfter: 2,
      event: {
        id: expect.stringMatching(/^[\da-f-]{36}$/),
        timestamp: expect.closeTo(Date.now(), -5),
        invocationId: expect.stringMatching(/^e-[\w-]{22}$/),
        author: 'user',
        actions: {
          rewindBeforeInvocationId: two.invocationId,
          stateDelta: { changed: 1, added: null },
          artifactDelta: {},
          requestedAuthConfigs: {},
          requestedToolConfirmations: {},
        },
      },
    });
    const session = await store().sessions.get(names);
    expect(session).toMatchObject({
      seq: 7,
      lastAgent: 'clerk',
      state: { kept: { a: 1 }, changed: 1, added: null, 'app:x': 2, 'user:y': 2 },
    });
    expect(session?.events.at(-1)).toEqual(marker);
    expect(notices).toEqual([{ type: 'appended', session: two.session, seq: 7 }]);

    const next = new Turn(store(), { names });
    const opened = await next.opened(1);
    expect(opened.events.filter(({ kind }) => kind === 'rewind')).toEqual([marker]);
    expect(visibleEvents(opened.events).map(({ seq }) => seq)).toEqual([1, 2, 8]);
  });

  test('a second rewind goes further back, and what a rewind hides can not be named', async () => {
    const names = newNames();
    const one = await turn(names, { a: 1 });
    const two = await turn(names, { a: 2 });
    const rewound = await store().sessions.rewind({ ...names, beforeInvocationId: two.invocationId });
    for (const hidden of [two.invocationId, rewound.event.invocationId as string, 'e-nothing', '']) {
      await expect(store().sessions.rewind({ ...names, beforeInvocationId: hidden })).rejects.toMatchObject({
        code: 'HOLDFAST_NO_SUCH_PLACE',
        message: expect.stringContaining(one.invocationId),
      });
    }
    const again = await store().sessions.rewind({ ...names, beforeInvocationId: one.invocationId });
    expect(again).toMatchObject({ seq: 6, hidesAfter: 0, event: { actions: { stateDelta: { a: null } } } });
    expect(visibleEvents(await store().sessions.readEvents(names))).toEqual([]);
    expect((await store().sessions.get(names))?.lastAgent).toBeUndefined();
    await expect(store().sessions.rewind({ ...names, beforeInvocationId: one.invocationId })).rejects.toThrow(
      'it has none',
    );
  });

  test('a rewind is of its own session and its lineage', async () => {
    const names = newNames();
    const one = await turn(names, { a: 1 });
    await turn(names, { a: 2 });
    const fork = { ...names, sessionId: 'fork' };
    await store().sessions.fork({ ...names, at: 2, to: 'fork' });
    const later = await turn(names);
    for (const beforeInvocationId of [later.invocationId, (await turn(newNames())).invocationId]) {
      await expect(store().sessions.rewind({ ...fork, beforeInvocationId })).rejects.toMatchObject({
        code: 'HOLDFAST_NO_SUCH_PLACE',
      });
    }
    const parent = await store().sessions.get(names);
    await store().sessions.rewind({ ...fork, beforeInvocationId: one.invocationId });
    expect(visibleEvents(await store().sessions.readEvents(fork))).toEqual([]);
    expect((await store().sessions.get(fork))?.state).toEqual({ a: null });
    expect(await store().sessions.get(names)).toEqual(parent);
    for (const other of [
      { ...names, sessionId: 'none' },
      { ...names, userId: 'bob' },
      { ...names, app: 'x' },
    ]) {
      await expect(
        store().sessions.rewind({ ...other, beforeInvocationId: one.invocationId }),
      ).rejects.toMatchObject({ code: 'HOLDFAST_SESSION_NOT_FOUND' });
    }
  });

  test('the state at a seq behind a rewind is what the rewind restored, with what came after it', async () => {
    const names = newNames();
    await turn(names, { a: 1 });
    const two = await turn(names, { a: 2, b: 2 });
    await store().sessions.rewind({ ...names, beforeInvocationId: two.invocationId });
    await turn(names, { c: 3 });
    await turn(names, { a: 4 });
    const stateAt = async (at: number) => (await store().sessions.fork({ ...names, at })).state;
    expect(await stateAt(4)).toEqual({ a: 2, b: 2 });
    expect(await stateAt(5)).toEqual({ a: 1, b: null });
    expect(await stateAt(7)).toEqual({ a: 1, b: null, c: 3 });
  });

  test('a turn that was left open is answered before the marker, which hides it', async () => {
    const names = newNames();
    await turn(names, { a: 1 });
    const broken = new Turn(store(), { names });
    await broken.opened(1);
    await broken.commit(1, 2);
    await broken.settle(1, 0, { ok: true }, { stateDelta: { a: 2 } });
    const marker = await store().sessions.rewind({ ...names, beforeInvocationId: broken.invocationId });
    expect(marker).toMatchObject({ seq: 6, hidesAfter: 2, event: { actions: { stateDelta: { a: 1 } } } });
    expect(await store().turns.findInvocation(names, broken.invocationId)).toMatchObject({
      status: 'interrupted',
      to: 5,
    });
    await expect(broken.opened(2)).rejects.toThrow();
    const next = await turn(names);
    const visible = visibleEvents(await next.events());
    expect(visible.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [7, 'message'],
      [8, 'model'],
    ]);
  });

  test('of many rewinds at once before one invocation one is made', async () => {
    const names = newNames();
    const one = await turn(names);
    const rewinds = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        store().sessions.rewind({ ...names, beforeInvocationId: one.invocationId }),
      ),
    );
    expect(rewinds.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await store().sessions.readEvents(names)).map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'rewind',
    ]);
  });
}
