import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { SessionNotFound } from '../../../../src/store/store-errors.ts';
import { newNames, Turn } from '../turns/turn.ts';

const actions = (stateDelta: Record<string, unknown>) => ({
  stateDelta,
  artifactDelta: {},
  requestedAuthConfigs: {},
  requestedToolConfirmations: {},
});

export function appendedEventSuite(store: () => PostgresStore): void {
  test('a program’s own event goes between turns, once, and its state is the session’s [runner.sessions]', async () => {
    const names = newNames();
    const turn = new Turn(store(), { names });
    await turn.opened(1, { stateDelta: { plan: 'silver', nested: { a: 1 } } });
    await turn.commit(1, 0);
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    const event = {
      invocationId: '',
      author: 'crm',
      actions: actions({ plan: 'gold', nested: { b: 2 }, 'user:vip': true, 'temp:x': 1 }),
    };
    const appended = await store().sessions.append({ ...names, key: 'k', event });
    expect(
      await store().sessions.append({ ...names, key: 'k', event: { ...event, author: 'other' } }),
    ).toEqual(appended);
    stop();
    expect(appended).toMatchObject({ seq: 3, kind: 'callback', event: { author: 'crm' } });
    expect(appended.event.actions.stateDelta).toEqual({ plan: 'gold', nested: { b: 2 }, 'user:vip': true });
    expect(notices[0]).toEqual({ type: 'appended', session: turn.session, seq: 3 });
    const session = await store().sessions.get(names);
    expect(session?.events.at(-1)).toEqual(appended);
    expect(session?.state).toEqual({ plan: 'gold', nested: { b: 2 }, 'user:vip': true });
    expect(session?.lastAgent).toBe('clerk');

    const said = {
      ...event,
      author: 'user',
      content: { role: 'user', parts: [{ text: 'hi' }] },
      actions: actions({}),
    };
    const message = await store().sessions.append({ ...names, key: 'l', event: said });
    expect(message).toMatchObject({ seq: 4, kind: 'message' });
    const next = new Turn(store(), { names });
    const opened = await next.opened(1);
    expect(opened.events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [3, 'callback'],
      [4, 'message'],
      [5, 'message'],
    ]);
  });

  test('a turn that was left open is closed before it, and a session must be there', async () => {
    const names = newNames();
    const turn = new Turn(store(), { names });
    await turn.opened(1);
    const event = { invocationId: '', author: 'crm', actions: actions({}) };
    await store().sessions.append({ ...names, key: 'k', event });
    expect((await store().turns.findInvocation(names, turn.invocationId))?.status).toBe('interrupted');
    await expect(store().sessions.append({ ...newNames(), key: 'k', event })).rejects.toThrow(
      SessionNotFound,
    );
  });
}
