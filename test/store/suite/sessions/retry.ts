import { expect, test } from 'vitest';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import { contentsOf } from '../../../../src/flows/perspective-contents.ts';
import { retryIdOf } from '../../../../src/protocol/identity.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { newNames, Turn, USAGE } from '../turns/turn.ts';
import { commitCalls, endedTurn, LARGE, takeUp } from './retried-turn.ts';

const NOTHING = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

export function retrySuite(store: () => PostgresStore): void {
  test('a retry goes back behind the model event of the call’s step [session.retry]', async () => {
    const old = await endedTurn(store());
    const { names, messageId } = old;
    const callKey = old.callKey(1, 1);
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    const prepared = await store().sessions.prepareRetry({ ...names, callKey });
    stop();
    const invocationId = retryIdOf(old.invocationId, 1);
    expect(prepared).toEqual({
      retryOf: old.invocationId,
      generation: 1,
      invocationId,
      messageId,
      agent: 'clerk',
    });
    expect(notices).toEqual([{ type: 'appended', session: old.session, seq: 7 }]);
    const events = await old.events();
    expect(events[6]).toMatchObject({
      seq: 7,
      kind: 'rewind',
      hidesAfter: 2,
      event: {
        author: 'user',
        actions: { stateDelta: { model: 1, call: null } },
        customMetadata: { holdfast: { retryOf: old.invocationId, callKey } },
      },
    });
    expect(events[6]?.event.actions).not.toHaveProperty('rewindBeforeInvocationId');
    expect(visibleEvents(events).map(({ seq }) => seq)).toEqual([1, 2]);
    expect((await store().sessions.get(names))?.state).toEqual({
      message: 1,
      model: 1,
      call: null,
      'app:x': 1,
    });
    expect(await store().turns.findInvocation(names, old.invocationId)).toEqual({
      session: old.session,
      invocationId,
      messageId,
      status: 'running',
      from: 8,
      to: 7,
    });
    expect(await store().sessions.readAudit(old.session)).toMatchObject([
      {
        kind: 'retried',
        facts: { seq: 7, hidesAfter: 2, retryOf: old.invocationId, callKey, invocationId, generation: 1 },
      },
    ]);
  });

  test('settled siblings keep their outcomes, the call runs anew under a new key [session.retry]', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    const prepared = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) });
    const { turn, opened } = await takeUp(store(), names, prepared);
    const key = (index: number) => `${prepared.invocationId}.1.${index}`;
    expect(opened).toMatchObject({
      kind: 'recorded',
      seq: 7,
      from: 8,
      agent: 'clerk',
      outcome: {
        kind: 'calls',
        session: old.session,
        seq: 7,
        usage: NOTHING,
        calls: [
          { callKey: key(0), callId: 'call_0', args: { value: { n: 0 } }, summary: 'n' },
          {
            callKey: key(1),
            callId: 'call_1',
            args: { ref: { key: key(1), digest: 'digest', bytes: 5_012 } },
          },
          { callKey: key(2), callId: 'call_2', args: { value: { n: 2 } } },
        ],
      },
    });
    expect(await store().turns.readReference(names, key(1))).toEqual(LARGE);
    expect(await turn.begin(1, 0)).toMatchObject({
      kind: 'settled',
      response: { ok: 0 },
      failed: false,
      actions: { stateDelta: { call: 0, 'app:x': 1 } },
    });
    expect(await turn.begin(1, 2)).toMatchObject({ kind: 'settled', response: { ok: 2 } });
    expect(await turn.begin(1, 1, true)).toMatchObject({
      kind: 'started',
      args: LARGE,
      attempt: 1,
      failures: 0,
      unknown: false,
      once: {},
      userContent: { parts: [{ text: 'hi' }] },
    });
    await turn.settle(1, 1, { ok: 'new paper' });
    const next = await turn.opened(2);
    expect(next.state).toEqual({ message: 1, model: 1, call: 0, 'app:x': 1 });
    const visible = visibleEvents(next.events);
    expect(visible.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [8, 'responses'],
    ]);
    // Calls and responses belong together by run and step.
    expect(visible[2]).toMatchObject({
      runKey: old.invocationId,
      step: 1,
      event: { invocationId: prepared.invocationId },
    });
    expect(contentsOf(visible, { agent: 'clerk', include: 'default' })).toMatchObject([
      { role: 'user' },
      { role: 'model' },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'call_0', response: { ok: 0 } } },
          { functionResponse: { id: 'call_1', response: { ok: 'new paper' } } },
          { functionResponse: { id: 'call_2', response: { ok: 2 } } },
          { functionResponse: { id: 'call_3', response: { error: 'unknown tool' } } },
        ],
      },
    ]);
    await turn.commit(2, 0);

    const found = { invocationId: prepared.invocationId, status: 'completed', from: 8, to: 9 };
    expect(await store().turns.findInvocation(names, old.invocationId)).toMatchObject(found);
    expect(await store().turns.findInvocation(names, prepared.invocationId)).toMatchObject(found);
    const sentAgain = new Turn(store(), { names, messageId: old.messageId });
    expect(await sentAgain.open(1)).toMatchObject({ kind: 'finished', from: 8, seq: 9 });
    expect((await store().sessions.get(names))?.lastAgent).toBe('clerk');
  });

  test('a prepared retry that has not run is returned again, however often it is asked for', async () => {
    const old = await endedTurn(store());
    const retry = { ...old.names, callKey: old.callKey(1, 1) };
    const all = await Promise.all(Array.from({ length: 8 }, () => store().sessions.prepareRetry(retry)));
    for (const prepared of all) expect(prepared).toEqual(all[0]);
    expect(await old.events()).toHaveLength(7);
    expect(await store().sessions.prepareRetry(retry)).toEqual(all[0]);
    expect(await store().sessions.readAudit(old.session)).toHaveLength(1);
  });

  test('each retry is a generation of the first invocation, whichever of them it is made from', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    let retryOf = old.callKey(1, 1);
    for (let generation = 1; generation <= 3; generation += 1) {
      const prepared = await store().sessions.prepareRetry({ ...names, callKey: retryOf });
      expect(prepared).toMatchObject({
        retryOf: old.invocationId,
        generation,
        invocationId: retryIdOf(old.invocationId, generation),
        messageId: old.messageId,
      });
      const { turn } = await takeUp(store(), names, prepared);
      await turn.settle(1, 1, { generation });
      const { events } = await turn.opened(2);
      const visible = visibleEvents(events);
      expect(visible.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses']);
      expect(JSON.stringify(visible[2])).toContain(`{"generation":${generation}}`);
      await commitCalls(turn, 2);
      for (const index of [0, 1, 2]) await turn.settle(2, index, { ok: index });
      await turn.opened(3);
      await turn.commit(3, 0);
      retryOf = `${prepared.invocationId}.1.1`;
    }
    // Of a later step: what stands before it stays.
    const third = retryIdOf(old.invocationId, 3);
    const last = await store().sessions.prepareRetry({ ...names, callKey: `${third}.2.0` });
    expect(last).toMatchObject({ retryOf: old.invocationId, generation: 4 });
    await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 2) });
    expect(await store().turns.findInvocation(names, old.invocationId)).toMatchObject({
      invocationId: retryIdOf(old.invocationId, 5),
    });
    expect(visibleEvents(await old.events()).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test('a retry of another call takes the place of one that has not run', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    const first = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(2, 0) });
    const second = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 0) });
    expect(second.generation).toBe(2);
    expect(await store().turns.findInvocation(names, first.invocationId)).toMatchObject({
      invocationId: second.invocationId,
    });
    const { turn } = await takeUp(store(), names, second);
    expect((await turn.begin(1, 1)).kind).toBe('settled');
    await turn.settle(1, 0, { ok: 'anew' });
    const { events } = await turn.opened(2);
    expect(visibleEvents(events).map(({ kind }) => kind)).toEqual(['message', 'model', 'responses']);
    expect(await takeUp(store(), names, first)).toMatchObject({ opened: { kind: 'finished' } });
  });

  test('a rewind before a retry goes back before the turn itself', async () => {
    const names = newNames();
    const earlier = await endedTurn(store(), names);
    const old = await endedTurn(store(), names);
    const prepared = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) });
    const { turn } = await takeUp(store(), names, prepared);
    await turn.settle(1, 1, { ok: true });
    await turn.opened(2);
    await turn.commit(2, 0);
    const { invocationId } = prepared;
    expect(await store().sessions.rewind({ ...names, beforeInvocationId: invocationId })).toMatchObject({
      hidesAfter: 6,
    });
    await expect(
      store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) }),
    ).rejects.toMatchObject({
      code: 'HOLDFAST_NO_SUCH_PLACE',
      message: expect.stringContaining('hides the call'),
    });
    expect(await store().sessions.prepareRetry({ ...names, callKey: earlier.callKey(2, 0) })).toMatchObject({
      retryOf: earlier.invocationId,
    });
  });

  test('a retry is refused where there is nothing to go back to', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    const refused = async (retry: SessionNames & { callKey: string }, code: string, message: string) => {
      await expect(store().sessions.prepareRetry(retry)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
    };
    const callKey = old.callKey(1, 1);
    await refused({ ...names, sessionId: 's2', callKey }, 'HOLDFAST_SESSION_NOT_FOUND', '"s2"');
    await refused({ ...names, userId: 'bob', callKey }, 'HOLDFAST_SESSION_NOT_FOUND', '"s1"');
    for (const missing of [
      old.callKey(1, 4),
      old.callKey(1, 99_999_999_999),
      old.callKey(3, 0),
      old.callKey(4, 0),
      'e-none.1.0',
    ]) {
      await refused({ ...names, callKey: missing }, 'HOLDFAST_NO_SUCH_PLACE', 'has no call');
    }
    for (const malformed of [
      '',
      'call_1',
      `${old.invocationId}.1`,
      'x'.repeat(10_000),
      `${old.invocationId}.99999999999.1`,
      'e\0.1.1',
      'e\ud800.1.1',
    ]) {
      await refused(
        { ...names, callKey: malformed },
        'HOLDFAST_NO_SUCH_PLACE',
        '<invocation id>.<step>.<index>',
      );
    }
    await refused({ ...names, callKey: old.callKey(1, 3) }, 'HOLDFAST_NO_SUCH_PLACE', 'without being run');
    const { sessionId } = await store().sessions.fork({ ...names, to: 'fork' });
    await refused({ ...names, sessionId, callKey }, 'HOLDFAST_NO_SUCH_PLACE', 'made in session "s1"');
    await store().sessions.rewind({ ...names, beforeInvocationId: old.invocationId });
    await refused({ ...names, callKey }, 'HOLDFAST_NO_SUCH_PLACE', 'hides the call');
    expect((await store().sessions.readAudit(old.session)).map(({ kind }) => kind)).toEqual(['rewound']);
  });

  test('the call of a sub-agent can not be retried', async () => {
    const root = new Turn(store());
    await root.opened(1);
    const { session, invocationId, fence } = root;
    const child = { session, invocationId, runKey: 'e-child', step: 1, fence };
    await store().turns.openStep({ ...child, seq: 0 });
    await store().turns.commitStep({
      ...child,
      agent: 'helper',
      events: [],
      calls: [{ callKey: 'e-child.1.0', callId: 'c', tool: 'pay' }],
      rows: [],
      usage: USAGE,
      outcome: {
        v: 1,
        kind: 'calls',
        session,
        seq: 0,
        agent: 'helper',
        model: 'gemini',
        calls: [{ callKey: 'e-child.1.0', callId: 'c', tool: 'pay', args: { value: {} } }],
        schedules: {},
        maxParallelCalls: 1,
        usage: USAGE,
      },
    });
    await expect(
      store().sessions.prepareRetry({ ...root.names, callKey: 'e-child.1.0' }),
    ).rejects.toMatchObject({
      code: 'HOLDFAST_NO_SUCH_PLACE',
      message: expect.stringContaining('sub-agent'),
    });
  });

  test('a turn that the store knows no end of is retried only by who says that it does not run', async () => {
    const names = newNames();
    const broken = new Turn(store(), { names });
    await broken.opened(1);
    await commitCalls(broken, 1);
    await broken.settle(1, 0, { ok: 0 });
    const retry = { ...names, callKey: broken.callKey(1, 1) };
    await expect(store().sessions.prepareRetry(retry)).rejects.toMatchObject({
      code: 'HOLDFAST_NO_SUCH_PLACE',
      message: expect.stringContaining("hasn't ended"),
    });
    expect(await broken.events()).toHaveLength(2);
    const prepared = await store().sessions.prepareRetry({ ...retry, interrupts: true });
    expect((await broken.events()).map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'responses',
      'rewind',
    ]);
    const { turn } = await takeUp(store(), names, prepared);
    expect(await turn.begin(1, 0)).toMatchObject({ kind: 'settled', response: { ok: 0 } });
    expect(await turn.begin(1, 1)).toMatchObject({ kind: 'started', attempt: 1 });
  });

  test('a retry is refused while another turn of its session has not ended, a retry that runs included', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    const retry = (index: number, interrupts = false) =>
      store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, index), interrupts });
    const other = new Turn(store(), { names });
    await other.opened(1);
    const refused = {
      code: 'HOLDFAST_NO_SUCH_PLACE',
      message: expect.stringContaining('another turn of session "s1" hasn\'t ended'),
    };
    await expect(retry(1)).rejects.toMatchObject(refused);
    await other.commit(1, 0);
    await retry(0);
    const { turn } = await takeUp(store(), names, await retry(1));
    await expect(retry(2)).rejects.toMatchObject(refused);
    expect((await turn.begin(1, 1)).kind).toBe('started');
    expect(await retry(2, true)).toMatchObject({ generation: 3 });
  });

  test('a retry has the agent of the call’s step, and what its message asked for [session.retry]', async () => {
    const old = new Turn(store());
    const asked = { agent: 'clerk', runConfig: { maxLlmCalls: 7 } };
    const content = { role: 'user', parts: [{ text: 'hi' }] };
    const opened = await store().turns.openStep({
      identity: { ...old.names, messageId: old.messageId },
      invocationId: old.invocationId,
      runKey: old.invocationId,
      step: 1,
      fence: old.fence,
      seq: 0,
      message: { invocationId: old.invocationId, author: 'user', content, actions: createEventActions() },
      asked,
    });
    Object.assign(old, { session: opened.session, seq: opened.seq });
    await commitCalls(old, 1);
    for (const index of [0, 1, 2]) await old.settle(1, index, { ok: index });
    await old.opened(2);
    await old.commit(2, 0, { agent: 'boss' });
    const retry = { ...old.names, callKey: old.callKey(1, 1) };
    const prepared = await store().sessions.prepareRetry(retry);
    expect(prepared.agent).toBe('clerk');
    expect((await store().sessions.prepareRetry(retry)).agent).toBe('clerk');
    const { turn } = await takeUp(store(), old.names, prepared);
    await turn.settle(1, 1, { ok: 'anew' });
    expect((await turn.opened(2)).asked).toEqual(asked);
  });

  test('a retry that never ran is ended by the next turn, its calls answered', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) });
    const next = new Turn(store(), { names });
    const { events } = await next.opened(1);
    const visible = visibleEvents(events);
    expect(visible.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'message']);
    expect(visible[2]).toMatchObject({ runKey: old.invocationId, step: 1 });
    expect(JSON.stringify(visible[2])).toContain('cut off');
  });
}
