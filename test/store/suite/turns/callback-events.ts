import { expect, test } from 'vitest';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Fenced } from '../../../../src/store/store-errors.ts';
import { takeUp } from '../sessions/retried-turn.ts';
import { losingAnswers } from '../statements.ts';
import { newNames, Turn, USAGE } from './turn.ts';

/** Events that user code adds to a step. */
export function callbackEventSuite(store: () => PostgresStore): void {
  const seen = async (turn: Turn) =>
    (await turn.events()).map(({ seq, kind, event }) => [seq, kind, event.content?.parts?.[0]?.text]);

  test('a step may say more than its model: in order, gapless, once, with all state deltas [callback.state]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const zombie = new Turn(store(), turn);
    await zombie.opened(1);
    const before = [
      turn.said('first', { stateDelta: { a: 1, 'temp:t': 1, 'app:x': 1 } }),
      turn.said('', { stateDelta: { b: 1 } }),
    ];
    const after = [turn.said('last', { stateDelta: { a: 3 } })];
    const committed = await losingAnswers(() =>
      turn.commit(1, 1, { before, after, text: 'model', actions: { stateDelta: { a: 2, b: 2 } } }),
    );
    expect(committed).toMatchObject({ seq: 5, from: 1 });
    expect(await zombie.commit(1, 0, { before })).toEqual({ ...committed, kind: 'recorded' });
    const expected = [
      [1, 'message', 'hi'],
      [2, 'callback', 'first'],
      [3, 'callback', undefined],
      [4, 'model', undefined],
      [5, 'callback', 'last'],
    ];
    expect(await seen(turn)).toEqual(expected);
    expect((await turn.events()).map(({ event }) => event.actions.stateDelta)).toEqual([
      {},
      { a: 1, 'app:x': 1 },
      { b: 1 },
      { a: 2, b: 2 },
      { a: 3 },
    ]);
    await turn.settle(1, 0, { ok: true });
    const { state, events } = await turn.opened(2, { knownSeq: 5 });
    expect(state).toEqual({ a: 3, b: 2, 'app:x': 1, 'temp:t': 1 });
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([[6, 'responses']]);
  });

  test('what comes too late says nothing, however many events it has [store.fence]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1);
    await new Turn(store(), { names }).opened(1);
    const said = [old.said('late', { stateDelta: { late: true } })];
    await expect(old.commit(1, 0, { before: said })).rejects.toBeInstanceOf(Fenced);
    const ended = await old.end(1, [], { status: 'completed', usage: USAGE }, undefined, {
      events: said,
    });
    expect(ended.outcome).toMatchObject({ status: 'interrupted' });
    expect(await seen(old)).toEqual([
      [1, 'message', 'hi'],
      [2, 'message', 'hi'],
    ]);
    expect((await store().sessions.get(names))?.state).toEqual({});
  });

  test('a step’s text is that of its last event with text, of callbacks too [store.references]', async () => {
    const turn = new Turn(store());
    const read = (key: string) => store().turns.readReference(turn.names, key);
    await turn.opened(1);
    // Its keys are those of the calls and of the callbacks.
    const before = ['one', 'two', 'three'].map((text) => turn.said(text));
    await turn.commit(1, 3, { before });
    expect(await read(`${turn.invocationId}.1`)).toBe('three');
    expect(await read(turn.callKey(1, 2))).toBeUndefined();
    for (const index of [0, 1, 2]) await turn.settle(1, index, { index });
    expect(await read(turn.callKey(1, 2))).toEqual({ index: 2 });
    await turn.opened(2);
    await turn.commit(2, 0, { text: 'model', before: [turn.said('before')], after: [turn.said('')] });
    expect(await read(`${turn.invocationId}.2`)).toBe('model');
    const { sessionId } = await store().sessions.fork({ ...turn.names, at: 6, to: 'fork' });
    expect(
      await store().turns.readReference({ ...turn.names, sessionId }, `${turn.invocationId}.2`),
    ).toBeUndefined();

    const said = new Turn(store());
    await said.opened(1);
    await said.commit(1, 0, { text: 'model', after: [said.said('after'), said.said('')] });
    expect(await store().turns.readReference(said.names, `${said.invocationId}.1`)).toBe('after');
    const silent = new Turn(store());
    await silent.opened(1);
    await silent.commit(1, 0, { text: '' });
    expect(await store().turns.readReference(silent.names, `${silent.invocationId}.1`)).toBe('');
  });

  test('a retry keeps what was said before the model, and hides what was said behind it [session.retry]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1);
    await old.commit(1, 1, {
      before: [old.said('before', { stateDelta: { a: 1 } })],
      after: [old.said('behind', { stateDelta: { a: 2, b: 2 } })],
      rows: [],
      retryable: true,
    });
    await old.settle(1, 0, { error: 'no' });
    await old.opened(2);
    await old.commit(2, 0, { after: [old.said('end')] });
    const prepared = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 0) });
    const { turn } = await takeUp(store(), names, prepared);
    await turn.settle(1, 0, { ok: true });
    const { events, state, lastAgent } = await turn.opened(2);
    expect(visibleEvents(events).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'callback'],
      [3, 'model'],
      [9, 'responses'],
    ]);
    expect(state).toEqual({ a: 1, b: null });
    expect(lastAgent).toBe('clerk');
  });

  test('a turn that ends between models says what it has to, behind its responses, once [callback.agent]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1, { before: [turn.said('first')], after: [turn.said('second')] });
    await turn.settle(1, 0, { ok: true }, { stateDelta: { call: 1, 'temp:t': 1 } });
    const outcome = {
      status: 'completed' as const,
      text: 'bye',
      output: { value: { n: [1, null, 'ä'], deep: { x: {} } } },
      usage: USAGE,
    };
    const end = () =>
      turn.end(1, [], outcome, undefined, {
        events: [
          turn.said('third', { stateDelta: { a: 1, call: 2, 'app:x': 1, 'temp:u': 1 } }),
          turn.said('', { stateDelta: { a: 2 } }),
        ],
      });
    const ended = await losingAnswers(end);
    expect(ended).toEqual({ seq: 7, from: 1, outcome });
    expect(await end()).toEqual(ended);
    expect((await store().turns.findInvocation(turn.names, turn.invocationId))?.outcome).toEqual(outcome);
    expect(await seen(turn)).toEqual([
      [1, 'message', 'hi'],
      [2, 'callback', 'first'],
      [3, 'model', undefined],
      [4, 'callback', 'second'],
      [5, 'responses', undefined],
      [6, 'callback', 'third'],
      [7, 'callback', undefined],
    ]);
    expect((await store().sessions.get(turn.names))?.state).toEqual({ a: 2, call: 2, 'app:x': 1 });
    expect(await store().turns.readReference(turn.names, `${turn.invocationId}.1`)).toBe('third');
    expect(JSON.stringify(await turn.events())).not.toContain('temp:');
  });
}
