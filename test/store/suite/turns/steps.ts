import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Fenced, StoreBehindHistory } from '../../../../src/store/store-errors.ts';
import { commitCalls, takeUp } from '../sessions/retried-turn.ts';
import { newNames, nextFence, Turn, total, USAGE } from './turn.ts';

export function stepSuite(store: () => PostgresStore): void {
  test('a turn of two steps: message, calls, merged responses, answer', async () => {
    const turn = new Turn(store());
    const first = await turn.opened(1, { text: 'pay twice' });
    expect(first).toMatchObject({ seq: 1, from: 1, attempt: 1, failures: 0, lastAgent: undefined });
    expect(first.names).toEqual(turn.names);
    expect(await turn.commit(1, 2)).toMatchObject({ kind: 'committed', seq: 2, from: 1 });
    await turn.settle(1, 1, { paid: 'second' });
    await turn.settle(1, 0, { paid: 'first' });
    const second = await turn.opened(2, { knownSeq: 2 });
    expect(second.events.map(({ seq }) => seq)).toEqual([3]);
    expect(second.lastAgent).toBe('clerk');
    expect(second.usage).toEqual(USAGE);
    const final = await turn.commit(2, 0);
    expect(final).toMatchObject({ seq: 4, from: 1 });
    expect(final.outcome).toMatchObject({ kind: 'final', session: turn.session, seq: 4, from: 1 });

    const events = await turn.events();
    expect(events.map(({ seq, kind, step }) => [seq, kind, step])).toEqual([
      [1, 'message', 1],
      [2, 'model', 1],
      [3, 'responses', 1],
      [4, 'model', 2],
    ]);
    expect(events[2]?.event).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      timestamp: expect.any(Number),
      invocationId: turn.invocationId,
      author: 'clerk',
      content: {
        role: 'user',
        parts: [
          { functionResponse: { id: 'call_0', name: 'pay', response: { paid: 'first' } } },
          { functionResponse: { id: 'call_1', name: 'pay', response: { paid: 'second' } } },
        ],
      },
      actions: {
        stateDelta: {},
        artifactDelta: {},
        requestedAuthConfigs: {},
        requestedToolConfirmations: {},
      },
    });
    expect(Math.abs((events[0]?.event.timestamp ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await store().sessions.find(turn.names)).toEqual({
      session: turn.session,
      seq: 4,
      lastAgent: 'clerk',
    });
    expect(await store().turns.findInvocation(turn.names, turn.invocationId)).toEqual({
      session: turn.session,
      invocationId: turn.invocationId,
      messageId: turn.messageId,
      status: 'completed',
      from: 1,
      to: 4,
      outcome: { status: 'completed', text: 'done', usage: total(2) },
    });
  });

  test('only new events are returned, and all of a session that was not known [store.read]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    const again = await turn.opened(2, { knownSeq: 2 });
    expect(again.events.map(({ seq }) => seq)).toEqual([3]);
    const other = await turn.store.turns.openStep({
      identity: { ...newNames(), messageId: 'm' },
      session: turn.session,
      invocationId: 'e-other',
      runKey: 'e-other',
      step: 1,
      fence: nextFence(),
      seq: 0,
      knownSeq: 2,
      message: { invocationId: 'e-other', author: 'user', actions: again.events[0]?.event.actions as never },
    });
    expect(other).toMatchObject({ kind: 'open', seq: 1, events: [{ seq: 1 }] });
  });

  test('a session that is named by its internal id keeps its known events out', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const { kind, events } = (await turn.store.turns.openStep({
      identity: { ...turn.names, messageId: turn.messageId },
      session: turn.session,
      invocationId: turn.invocationId,
      runKey: turn.invocationId,
      step: 1,
      fence: turn.fence,
      seq: 0,
      knownSeq: 1,
    })) as never;
    expect([kind, events]).toEqual(['open', []]);
  });

  test('a message is appended once, however often its step is opened [store.append]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const again = await turn.opened(1);
    expect(again).toMatchObject({ seq: 1, attempt: 2 });
    expect(again.events).toHaveLength(1);
  });

  test('a committed step gives its recorded outcome back, and a second commit too [store.steps]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const zombie = new Turn(store(), turn);
    await zombie.opened(1);
    const first = await turn.commit(1, 2);
    expect(await zombie.commit(1, 1)).toEqual({ ...first, kind: 'recorded' });
    expect(await turn.open(1)).toEqual({
      kind: 'recorded',
      session: turn.session,
      seq: 2,
      from: 1,
      agent: 'clerk',
      outcome: first.outcome,
      inbox: [],
      startedAt: turn.fence.startedAt,
      age: expect.any(Number),
      sessionUsage: { ...USAGE, modelCalls: 2, unknownCalls: 1, time: 0 },
    });
    expect(await turn.events()).toHaveLength(2);
  });

  test('a finished invocation gives its outcome back for ever [turn.messageId]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 0);
    const later = new Turn(store(), { names: turn.names });
    await later.opened(1);
    await later.commit(1, 0);
    const resent = new Turn(store(), { ...turn, fence: nextFence() });
    expect(await resent.open(1)).toMatchObject({
      kind: 'finished',
      seq: 2,
      from: 1,
      agent: 'clerk',
      outcome: { status: 'completed', usage: USAGE },
    });
    expect(await turn.events()).toHaveLength(4);
  });

  test('fences: an older turn can neither open, commit nor settle a step [store.fence]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1);
    const next = new Turn(store(), { names });
    await next.opened(1);
    const before = await old.events();
    // The new turn has ended the old one: its outcome is what an attempt is told, and a write of it is refused.
    expect(await old.open(1)).toMatchObject({ kind: 'finished', outcome: { status: 'interrupted' } });
    await expect(old.commit(1, 0)).rejects.toBeInstanceOf(Fenced);
    expect((await old.end(1, [], { status: 'failed', usage: USAGE })).outcome).toMatchObject({
      status: 'interrupted',
    });
    const unheard = new Turn(store(), { names, fence: old.fence });
    await expect(unheard.open(1)).rejects.toMatchObject({ code: 'HOLDFAST_FENCED', retryable: false });
    expect(await old.events()).toEqual(before);
  });

  test('fences: a late attempt of an older step can not append, recorded steps are read again [store.fence]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    expect((await turn.open(1)).kind).toBe('recorded');
    turn.seq = 3;
    const twoAhead = new Turn(store(), turn);
    Object.assign(twoAhead, { session: turn.session, seq: turn.seq });
    await twoAhead.commit(2, 1);
    await twoAhead.settle(2, 0, { ok: true });
    await twoAhead.opened(3);
    await expect(turn.end(2, [])).rejects.toBeInstanceOf(Fenced);
    await expect(
      store().turns.openStep({
        session: turn.session,
        invocationId: turn.invocationId,
        runKey: turn.invocationId,
        step: 3,
        fence: { ...turn.fence, startedAt: turn.fence.startedAt - 1 },
        seq: 0,
      }),
    ).rejects.toBeInstanceOf(Fenced);
  });

  test('a message sent again after its run was terminated goes on where it stopped', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    const resent = new Turn(store(), { ...turn, fence: nextFence() });
    expect((await resent.open(1)).kind).toBe('recorded');
    await resent.opened(2);
    await expect(turn.commit(2, 0)).rejects.toBeInstanceOf(Fenced);
    await resent.commit(2, 0);
    expect((await turn.events()).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [3, 'responses'],
      [4, 'model'],
    ]);
  });

  test('a chain that takes over goes on under its own fence, whatever number the turn had before [store.fence]', async () => {
    const names = newNames();
    const { startedAt } = nextFence();
    const first = new Turn(store(), { names, fence: { startedAt, invocation: 1 } });
    await first.opened(1);
    await first.commit(1, 0);
    const broken = new Turn(store(), { names, fence: { startedAt, invocation: 2 } });
    await broken.opened(1);
    await broken.commit(1, 1);
    await broken.settle(1, 0, { ok: true });
    await broken.opened(2);
    const resent = new Turn(store(), { ...broken, fence: nextFence() });
    expect(await resent.open(1)).toMatchObject({ kind: 'recorded', startedAt: resent.fence.startedAt });
    // From then on the chain before it writes no more, not even at a later step.
    await expect(broken.commit(2, 0)).rejects.toBeInstanceOf(Fenced);
    await resent.opened(2);
    expect(await resent.commit(2, 0)).toMatchObject({ kind: 'committed', seq: 6 });
  });

  test('a recorded step lowers no fence: a chain of an older clock is told, and so is the next attempt [store.fence]', async () => {
    const names = newNames();
    const older = nextFence();
    const turn = new Turn(store(), { names, fence: { ...nextFence(), invocation: 2 } });
    await turn.opened(1);
    await turn.commit(1, 1);
    await expect(new Turn(store(), { ...turn, fence: older }).open(1)).rejects.toBeInstanceOf(Fenced);
    expect(await store().turns.newestFence(names)).toEqual(turn.fence);
    // An attempt that was lost had raised it.
    const { startedAt } = turn.fence;
    const late = new Turn(store(), { ...turn, fence: { startedAt: startedAt - 1, invocation: 2 } });
    expect(await late.open(1)).toMatchObject({ kind: 'recorded', startedAt });
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
  });

  test('what a turn is asked to be is kept from its first opening [session.retry]', async () => {
    const plain = new Turn(store());
    expect(await plain.opened(1, { asked: {} })).toMatchObject({ asked: {} });
    const turn = new Turn(store());
    const asked = { agent: 'clerk', runConfig: { maxLlmCalls: 3 } };
    expect(await turn.opened(1, { asked })).toMatchObject({ asked });
    expect(await turn.opened(1, { asked: { agent: 'other' } })).toMatchObject({ asked });
    await commitCalls(turn, 1);
    for (const index of [0, 1, 2]) await turn.settle(1, index, { ok: true });
    expect(await turn.opened(2)).toMatchObject({ asked });
    await turn.commit(2, 0);
    const prepared = await store().sessions.prepareRetry({ ...turn.names, callKey: turn.callKey(1, 0) });
    const { turn: retried } = await takeUp(store(), turn.names, prepared);
    await retried.settle(1, 0, { ok: true });
    expect(await retried.opened(2)).toMatchObject({ asked });
  });

  test('a chain that took over ends a turn at a step before the one that the old chain had opened', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    const resent = new Turn(store(), { ...turn, fence: nextFence() });
    await resent.open(1);
    expect(await resent.end(1, [], { status: 'interrupted', usage: USAGE })).toMatchObject({
      seq: 3,
      outcome: { status: 'interrupted' },
    });
    await expect(turn.commit(2, 0)).rejects.toBeInstanceOf(Fenced);
  });

  test('a store that is behind the turn says so [store.behind]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    turn.seq = 17;
    await expect(turn.open(2)).rejects.toMatchObject({
      code: 'HOLDFAST_STORE_BEHIND_HISTORY',
      retryable: true,
    });
    turn.seq = 2;
    await turn.opened(2);
    const lost = new Turn(store());
    lost.session = 'no-such-session';
    for (const call of [
      () => lost.open(2),
      () => lost.commit(1, 0),
      () => lost.begin(1, 0),
      () => lost.settle(1, 0, {}),
      () => lost.end(1, []),
      () => store().turns.recordStepFailure({ session: 'none', runKey: 'e', step: 1, error: 'x' }),
      () => store().turns.recordCallFailure({ session: 'none', callKey: 'e.1.0', error: 'x' }),
      () => store().turns.recordOnce({ session: 'none', callKey: 'e.1.0', key: 'k', value: 1 }),
    ]) {
      await expect(call()).rejects.toBeInstanceOf(StoreBehindHistory);
    }
    const behind = new Turn(store());
    behind.seq = 4;
    await expect(behind.open(1)).rejects.toBeInstanceOf(StoreBehindHistory);
    expect(await store().sessions.find(behind.names)).toBeUndefined();
  });

  test('a step with a call that has no outcome can not be followed by another', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 2);
    await turn.begin(1, 0);
    await turn.settle(1, 1, { ok: true });
    await expect(turn.open(2)).rejects.toBeInstanceOf(StoreBehindHistory);
    await expect(turn.open(2)).rejects.toThrow(turn.callKey(1, 0));
    expect(await turn.events()).toHaveLength(2);
  });

  test('a failure counts for the attempt that it names, once, whoever tells it first [model.retry]', async () => {
    const turn = new Turn(store());
    for (let attempt = 1; attempt <= 3; attempt += 1) await turn.opened(1);
    const failed = { session: turn.session, runKey: turn.invocationId, step: 1, error: 'overloaded' };
    const fail = (attempt: number) => store().turns.recordStepFailure({ ...failed, attempt });
    expect([await fail(2), await fail(2), await fail(1), await fail(2), await fail(1)]).toEqual([
      1, 1, 2, 2, 2,
    ]);
    expect(await turn.opened(1)).toMatchObject({ attempt: 4, failures: 2, lost: 1 });
    // The running one; and one that this store, an older copy, has not seen begin.
    expect([await store().turns.recordStepFailure(failed), await fail(9)]).toEqual([3, 3]);
    expect(await turn.opened(1)).toMatchObject({ attempt: 5, failures: 3, lost: 1 });
  });

  test('failures of a step are counted, at most one for each attempt [model.retry]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const failed = { session: turn.session, runKey: turn.invocationId, step: 1, error: 'overloaded' };
    expect(await store().turns.recordStepFailure(failed)).toBe(1);
    expect(await store().turns.recordStepFailure(failed)).toBe(1);
    expect(await turn.opened(1)).toMatchObject({ attempt: 2, failures: 1 });
    expect(await store().turns.recordStepFailure(failed)).toBe(2);
  });

  test('settling a step settles what is left, appends its responses and the error event, and ends the run [store.steps]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 2);
    await turn.settle(1, 0, { ok: true });
    const failed = { status: 'failed', error: { code: 'BUDGET', message: 'spent' }, usage: USAGE } as const;
    expect(
      await turn.end(1, [
        { index: 0, error: 'late' },
        { index: 1, error: 'cancelled' },
      ]),
    ).toEqual({
      seq: 2,
      from: 1,
    });
    expect(await turn.end(1, [], failed)).toEqual({ seq: 4, from: 1, outcome: failed });
    expect(await turn.end(1, [], { status: 'interrupted', usage: USAGE })).toEqual({
      seq: 4,
      from: 1,
      outcome: failed,
    });
    const [, , responses, error] = await turn.events();
    expect(responses?.event.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
      { ok: true },
      { error: 'cancelled' },
    ]);
    expect(error).toMatchObject({ kind: 'error', event: { errorCode: 'BUDGET', errorMessage: 'spent' } });
  });

  test('a step that never got to open can be settled, with the responses of the one before', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    expect(await turn.end(2, [], { status: 'failed', usage: USAGE })).toMatchObject({ seq: 3 });
    expect((await turn.events()).map(({ kind }) => kind)).toEqual(['message', 'model', 'responses']);
  });
}
