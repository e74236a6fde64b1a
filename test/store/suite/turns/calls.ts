import { expect, test } from 'vitest';
import type { StoreNotice } from '../../../../src/store/live/live-feed.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { type Begun, newNames, Turn, USAGE } from './turn.ts';

export function callSuite(store: () => PostgresStore): void {
  async function turnWithCalls(calls: number): Promise<Turn> {
    const turn = new Turn(store());
    await turn.opened(1, { stateDelta: { cart: 1, 'temp:t': 2, 'app:a': 3, 'user:u': 4 } });
    await turn.commit(1, calls);
    return turn;
  }

  test('a call that begins learns its session, state and attempt', async () => {
    const turn = await turnWithCalls(1);
    const begun = await turn.begin(1, 0);
    expect(begun).toEqual({
      kind: 'started',
      names: turn.names,
      invocationId: turn.invocationId,
      userContent: { role: 'user', parts: [{ text: 'hi' }] },
      state: { cart: 1, 'temp:t': 2, 'app:a': 3, 'user:u': 4 },
      remembered: { toolEdits: [], ends: false },
      attempt: 1,
      failures: 0,
      unknown: false,
      once: {},
    });
    const again = (await turn.begin(1, 0)) as Begun;
    expect(again).toEqual({ ...begun, attempt: 2, unknown: true });
    again.state.cart = 'changed';
    expect(((await turn.begin(1, 0)) as Begun).state.cart).toBe(1);
  });

  test('only the newest attempt at a run begins inline calls [tool.inline] [turn.late]', async () => {
    const turn = new Turn(store());
    await turn.opened(1, { scheduledAt: 1_000 });
    await turn.commit(1, 4);
    const begin = (index: number, scheduledAt: number, isInline = true) =>
      turn.store.turns.beginCall({
        ...{ session: turn.session, runKey: turn.invocationId, callKey: turn.callKey(1, index) },
        ...{ callId: `call_${index}`, tool: 'pay', argsDigest: 'digest', wantArgs: false },
        ...{ isInline, scheduledAt },
      });
    expect(await begin(0, 1_000)).toMatchObject({ kind: 'started', attempt: 1 });
    expect(await turn.open(1, { scheduledAt: 3_000 })).toMatchObject({ kind: 'recorded' });
    await turn.open(1, { scheduledAt: 2_000 });
    const late = { code: 'HOLDFAST_STORE_BEHIND_HISTORY' };
    await expect(begin(1, 2_000)).rejects.toMatchObject(late);
    const together = await Promise.allSettled([begin(1, 2_000), begin(2, 3_000), begin(3, 2_000, false)]);
    expect(together).toMatchObject([{ reason: late }, { value: { attempt: 1 } }, { value: { attempt: 1 } }]);
  });

  test('an attempt with a recorded failure leaves no unknown outcome [store.calls]', async () => {
    const turn = await turnWithCalls(1);
    const call = { session: turn.session, callKey: turn.callKey(1, 0), error: 'no' };
    await turn.begin(1, 0);
    expect(await store().turns.recordCallFailure(call)).toBe(1);
    expect(await store().turns.recordCallFailure(call)).toBe(1);
    const begun = { attempt: 2, failures: 1, lastError: 'no', unknown: false };
    expect(await turn.begin(1, 0)).toMatchObject(begun);
    expect(await store().turns.recordCallFailure({ ...call, counts: false })).toBe(1);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 3, failures: 1, unknown: false });
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 4, failures: 1, unknown: true });
  });

  test('a failure that is told again, after the next attempt began, leaves that one unknown [store.calls]', async () => {
    const turn = await turnWithCalls(1);
    const call = { session: turn.session, callKey: turn.callKey(1, 0), error: 'no', attempt: 1 };
    await turn.begin(1, 0);
    expect(await store().turns.recordCallFailure(call)).toBe(1);
    await turn.begin(1, 0);
    expect(await store().turns.recordCallFailure(call)).toBe(1);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 3, failures: 1, unknown: true });
    expect(await store().turns.recordCallFailure({ ...call, attempt: 3, counts: false })).toBe(1);
    expect(await store().turns.recordCallFailure({ ...call, attempt: 3 })).toBe(1);
    expect(await store().turns.recordCallFailure({ ...call, attempt: 2 })).toBe(2);
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 4, failures: 2, unknown: false });
  });

  test('the first outcome wins, and a call that has one is not begun again [store.calls]', async () => {
    const turn = await turnWithCalls(1);
    await turn.begin(1, 0);
    const actions = { stateDelta: { b: 1 }, transferToAgent: 'x' };
    expect(await turn.settle(1, 0, { b: 1, a: [2] }, actions)).toEqual({
      first: true,
      response: { b: 1, a: [2] },
      failed: false,
      actions,
    });
    expect(await turn.settle(1, 0, { error: 'late' })).toEqual({
      first: false,
      response: { b: 1, a: [2] },
      failed: false,
      actions,
    });
    expect(await turn.begin(1, 0)).toEqual({
      kind: 'settled',
      response: { b: 1, a: [2] },
      failed: false,
      actions,
    });
  });

  test('a call that never began can be settled [store.calls]', async () => {
    const turn = await turnWithCalls(1);
    const heard: StoreNotice[] = [];
    const stop = store().live.onNotice((notice) => heard.push(notice));
    await turn.settle(1, 0, { error: 'unknown tool' });
    stop();
    expect(heard).toEqual([
      {
        type: 'call finished',
        session: turn.session,
        runKey: turn.invocationId,
        callKey: turn.callKey(1, 0),
        tool: 'pay',
        failed: true,
      },
    ]);
    expect((await turn.opened(2)).events.at(-1)?.event.content?.parts).toEqual([
      { functionResponse: { id: 'call_0', name: 'pay', response: { error: 'unknown tool' } } },
    ]);
  });

  test('planned rows keep arguments, and answers of calls that never run', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const row = (index: number) => ({
      callKey: turn.callKey(1, index),
      index,
      callId: `call_${index}`,
      tool: 'pay',
    });
    await turn.commit(1, 3, {
      rows: [
        { ...row(0), args: { z: 1, a: { y: 2, b: 3 } } },
        { ...row(1), response: { error: 'unknown tool' } },
        { ...row(2), args: {}, response: { ok: true } },
      ],
    });
    expect(JSON.stringify(((await turn.begin(1, 0, true)) as Begun).args)).toBe('{"z":1,"a":{"y":2,"b":3}}');
    expect(await turn.begin(1, 1)).toMatchObject({
      kind: 'settled',
      response: { error: 'unknown tool' },
      failed: true,
    });
    expect(await turn.begin(1, 2)).toMatchObject({ kind: 'settled', response: { ok: true }, failed: false });
    expect(await store().turns.readReference(turn.names, turn.callKey(1, 0))).toEqual({
      z: 1,
      a: { y: 2, b: 3 },
    });
  });

  test('arguments that the ledger should keep and does not are a store that is behind', async () => {
    const turn = await turnWithCalls(1);
    await expect(turn.begin(1, 0, true)).rejects.toMatchObject({ code: 'HOLDFAST_STORE_BEHIND_HISTORY' });
  });

  test('a once result is the first one recorded, and comes back with the next attempt [turn.once]', async () => {
    const turn = await turnWithCalls(1);
    await turn.begin(1, 0);
    const once = { session: turn.session, callKey: turn.callKey(1, 0), key: 'charge' };
    expect(await store().turns.recordOnce({ ...once, value: { id: 'ch_1' } })).toEqual({ id: 'ch_1' });
    expect(await store().turns.recordOnce({ ...once, value: { id: 'ch_2' } })).toEqual({ id: 'ch_1' });
    expect(await store().turns.recordOnce({ ...once, key: 'nothing', value: undefined })).toBeNull();
    expect(((await turn.begin(1, 0)) as Begun).once).toEqual({ charge: { id: 'ch_1' }, nothing: null });
  });

  test('attempts that ask at the same time are each answered with their own result, and stale ones refused [turn.once]', async () => {
    const [turn, other] = [await turnWithCalls(70), await turnWithCalls(1)];
    for (const index of [0, 1, 2, 3]) await turn.begin(1, index);
    await other.begin(1, 0);
    const asked = (of: Turn, index: number, more: { key?: string; attempt?: number } = {}) =>
      store().turns.askOnce({ session: of.session, callKey: of.callKey(1, index), key: 'charge', ...more });
    const charged = {
      session: turn.session,
      callKey: turn.callKey(1, 0),
      key: 'charge',
      value: { id: 'ch_1' },
    };
    await store().turns.recordOnce(charged);
    await store().turns.recordOnce({ ...charged, key: 'nothing', value: null });
    await turn.begin(1, 1);
    await turn.settle(1, 2, { done: true });
    const answers = await Promise.allSettled([
      asked(turn, 0, { attempt: 1 }),
      asked(turn, 0, { key: 'nothing', attempt: 1 }),
      asked(turn, 0, { attempt: 1 }),
      asked(turn, 0, { key: 'refund', attempt: 1 }),
      asked(turn, 1, { attempt: 1 }),
      asked(turn, 1, { attempt: 2 }),
      asked(turn, 2, { attempt: 1 }),
      asked(turn, 2),
      asked(turn, 3, { key: '', attempt: 1 }),
      asked(turn, 4, { attempt: 1 }),
      asked(turn, 4),
      asked(other, 0, { attempt: 1 }),
      ...Array.from({ length: 65 }, (_, index) => asked(turn, 5 + index)),
    ]);
    const seen = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.code));
    expect(seen).toEqual([
      { id: 'ch_1' },
      null,
      { id: 'ch_1' },
      undefined,
      'HOLDFAST_ATTEMPT_REPLACED',
      undefined,
      'HOLDFAST_ATTEMPT_REPLACED',
      undefined,
      undefined,
      'HOLDFAST_STORE_BEHIND_HISTORY',
      undefined,
      undefined,
      ...Array.from({ length: 65 }, () => undefined),
    ]);
  });

  test('references: a response, arguments until there is one, the text of a final step [store.references]', async () => {
    const turn = await turnWithCalls(1);
    await turn.settle(1, 0, { big: 'result' });
    await turn.opened(2);
    await turn.commit(2, 0, { text: 'a long answer' });
    expect(await store().turns.readReference(turn.names, turn.callKey(1, 0))).toEqual({ big: 'result' });
    expect(await store().turns.readReference(turn.names, `${turn.invocationId}.2`)).toBe('a long answer');
    expect(await store().turns.readReference(turn.names, 'e-none.1.0')).toBeUndefined();
    expect(await store().turns.readReference(newNames(), turn.callKey(1, 0))).toBeUndefined();
  });

  test('a call that sees its siblings gets what those settled did to the state, in call order', async () => {
    const turn = await turnWithCalls(5);
    const changes = [
      { nested: { a: { x: 1 }, list: [1] }, 'app:a': { y: 1 }, first: true },
      { nested: { a: { y: 2 }, list: [2] }, 'temp:t': 5, first: false },
      { nested: { b: 3 }, cart: null },
    ];
    await turn.settle(1, 2, { ok: true }, { stateDelta: changes[2] });
    await turn.settle(1, 0, { ok: true }, { stateDelta: changes[0] });
    await turn.begin(1, 1);
    await turn.settle(1, 1, { ok: true }, { stateDelta: changes[1], artifactDelta: { f: 1 } });
    const planned = { cart: 1, 'temp:t': 2, 'app:a': 3, 'user:u': 4 };
    const seen = {
      nested: { a: { x: 1, y: 2 }, b: 3, list: [2] },
      cart: null,
      first: false,
      'temp:t': 5,
      'app:a': { y: 1 },
      'user:u': 4,
    };
    expect(((await turn.begin(1, 3)) as Begun).state).toEqual(planned);
    expect(((await turn.begin(1, 3, false, true)) as Begun).state).toEqual(seen);
    const [one, other] = await Promise.all([turn.begin(1, 3, false, true), turn.begin(1, 4)]);
    expect([(one as Begun).state, (other as Begun).state]).toEqual([seen, planned]);
    expect(await turn.begin(1, 1, false, true)).toMatchObject({ kind: 'settled', response: { ok: true } });
    await turn.settle(1, 3, { ok: true });
    await turn.settle(1, 4, { ok: true });
    const { state } = await turn.opened(2);
    expect(state).toEqual(seen);
    await turn.commit(2, 1);
    expect(((await turn.begin(2, 0, false, true)) as Begun).state).toEqual(seen);
  });

  test('calls that begin together each have a state of their own, which they may change', async () => {
    const turn = await turnWithCalls(3);
    const begun = (await Promise.all([0, 1, 2].map((index) => turn.begin(1, index)))) as Begun[];
    const expected = { cart: 1, 'temp:t': 2, 'app:a': 3, 'user:u': 4 };
    expect(begun.map(({ state }) => state)).toEqual([expected, expected, expected]);
    for (const { state } of begun) state.cart = 'changed';
    expect(((await turn.begin(1, 0)) as Begun).state).toEqual(expected);
  });

  test("a child's calls have the temp state of their invocation, alone or together", async () => {
    const turn = await turnWithCalls(1);
    await store().turns.openStep({
      session: turn.session,
      invocationId: turn.invocationId,
      runKey: 'e-child',
      step: 1,
      fence: turn.fence,
      seq: turn.seq,
    });
    const begin = (index: number) =>
      store().turns.beginCall({
        session: turn.session,
        runKey: 'e-child',
        callKey: `e-child.1.${index}`,
        callId: 'c',
        tool: 'look',
        argsDigest: 'digest',
        wantArgs: false,
      }) as Promise<Begun>;
    const begun = [await begin(0), await begin(1), ...(await Promise.all([begin(2), begin(3)]))];
    const state = { cart: 1, 'temp:t': 2, 'app:a': 3, 'user:u': 4 };
    const { invocationId, names } = turn;
    const userContent = { role: 'user', parts: [{ text: 'hi' }] };
    for (const call of begun)
      expect(call).toMatchObject({ invocationId, names, userContent, state, attempt: 1 });
  });

  test('a planned call settles without having begun, and the first outcome wins [store.calls]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const row = { callKey: turn.callKey(1, 0), index: 0, callId: 'call_0', tool: 'pay', args: { a: 1 } };
    await turn.commit(1, 1, { rows: [row] });
    expect(await turn.settle(1, 0, { error: 'rejected' })).toMatchObject({ first: true, failed: true });
    expect(await turn.settle(1, 0, { ok: true })).toMatchObject({
      first: false,
      failed: true,
      response: { error: 'rejected' },
    });
  });

  test('a key that is no call key is refused by name', async () => {
    const turn = await turnWithCalls(0);
    await expect(
      store().turns.settleCall({
        session: turn.session,
        callKey: 'x',
        response: {},
        failed: false,
        actions: {},
      }),
    ).rejects.toThrow('callKey');
  });

  test('followers hear what was written, in order, and a listener that leaves hears nothing [store.notices]', async () => {
    const turn = new Turn(store());
    const heard: string[] = [];
    const stop = store().live.onNotice((notice) => {
      if (notice.type === 'appended') heard.push(`appended ${notice.seq}`);
      else heard.push('tool' in notice ? `${notice.type} ${notice.tool}` : notice.type);
    });
    await turn.opened(1);
    await turn.commit(1, 2);
    await turn.begin(1, 0);
    await turn.settle(1, 0, { ok: true });
    await turn.settle(1, 0, { ok: true });
    await turn.end(1, [{ index: 1, error: 'gone' }], { status: 'interrupted', usage: USAGE });
    stop();
    await new Turn(store()).opened(1);
    expect(heard).toEqual([
      'appended 1',
      'appended 2',
      'call started pay',
      'call finished pay',
      'call finished pay',
      'appended 3',
    ]);
  });
}
