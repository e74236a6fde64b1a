import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createEventActions, type EventActions } from '../../../../src/events/event-actions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { DraftEvent } from '../../../../src/store/sessions/session-store.ts';
import { Fenced, StoreBehindHistory } from '../../../../src/store/store-errors.ts';
import { toKeep } from '../messages/inbox.ts';
import { takeUp } from '../sessions/retried-turn.ts';
import { losingAnswers, watchingReads } from '../statements.ts';
import { newNames, nextFence, Turn, USAGE } from './turn.ts';

/** A step's input, seen before it is appended and changed by plugins. */
export function peekSuite(store: () => PostgresStore): void {
  const given = (turn: Turn, text: string, actions: Partial<EventActions> = {}): DraftEvent => ({
    invocationId: turn.invocationId,
    author: 'plugin',
    content: { role: 'user', parts: [{ text }] },
    actions: createEventActions(actions),
  });

  async function withCalls(calls = 1, stateDelta: Record<string, unknown> = {}): Promise<Turn> {
    const turn = new Turn(store());
    await turn.opened(1, { stateDelta });
    await turn.commit(1, calls);
    return turn;
  }

  test('a turn of a session that is not there sees the state of its app and user, and makes nothing [plugin.message]', async () => {
    const names = newNames();
    const other = new Turn(store(), { names: { ...names, sessionId: 'other' } });
    await other.opened(1, { stateDelta: { 'app:a': 1, 'user:u': 2, own: 3 } });
    const turn = new Turn(store(), { names });
    expect(await turn.peek(1)).toEqual({
      names,
      begun: false,
      remembered: { toolEdits: [], ends: false },
      state: { 'app:a': 1, 'user:u': 2 },
      seq: 0,
      from: 0,
    });
    expect(await store().sessions.find(names)).toBeUndefined();
    await turn.opened(1);
    expect(await turn.peek(1)).toMatchObject({ begun: true, seq: 1, from: 1 });
  });

  test('a message that waits in the inbox is seen, and waits on [plugin.message]', async () => {
    const names = newNames();
    const before = new Turn(store(), { names });
    await before.opened(1, { stateDelta: { own: 1 } });
    await before.commit(1, 0);
    const content = { role: 'user', parts: [{ text: 'kept' }] };
    const stateDelta = { a: 1, 'temp:t': 2 };
    const messages = [toKeep(names, 'm1', { message: content, stateDelta })];
    await store().messages.keep({ ...names, startedAt: 1, messages });
    const turn = new Turn(store(), { names, messageId: 'm1' });
    const peeked = await turn.peek(1);
    expect(peeked).toEqual({
      names,
      begun: false,
      remembered: { toolEdits: [], ends: false },
      message: content,
      stateDelta,
      messageDigest: messages[0]?.digest,
      state: { own: 1 },
      seq: 2,
      from: 0,
    });
    expect(await turn.peek(1)).toEqual(peeked);
    expect(await store().messages.readInbox(names)).toHaveLength(1);
    const opened = await turn.opened(1, { fromInbox: true });
    expect(opened.events.at(-1)?.event.content).toEqual(content);
    expect(await turn.peek(1)).toEqual({
      names,
      begun: true,
      remembered: { toolEdits: [], ends: false },
      state: { own: 1, a: 1, 'temp:t': 2 },
      seq: 3,
      from: 3,
    });
  });

  test('a message that has to give way is seen to, and one of another content is not [plugin.message]', async () => {
    const names = newNames();
    const messages = ['m1', 'm2'].map((id, place) => toKeep(names, id, { place }));
    await store().messages.keep({ ...names, startedAt: 1, messages });
    const turn = new Turn(store(), { names, messageId: 'm2' });
    const told = await turn.open(1, { mayGiveWay: true, fromInbox: true });
    expect(told).toMatchObject({ kind: 'behind', inbox: [{ messageId: 'm1' }, { messageId: 'm2' }] });
    for (const more of [{}, { messageDigest: messages[1]?.digest }]) {
      expect((await turn.peek(1, { mayGiveWay: true, ...more })).behind).toEqual(told);
    }
    const peeks = [{ mayGiveWay: true, messageDigest: 'other' }, { mayGiveWay: false }, {}];
    for (const more of peeks) expect(await turn.peek(1, more)).not.toHaveProperty('behind');
    const first = new Turn(store(), { names, messageId: 'm1' });
    expect(await first.peek(1, { mayGiveWay: true })).not.toHaveProperty('behind');
    await first.opened(1, { mayGiveWay: true, fromInbox: true });
    expect(await turn.peek(1, { mayGiveWay: true })).not.toHaveProperty('behind');
  });

  test('the responses to come are seen as they will be appended, again and again [plugin.events]', async () => {
    const turn = await withCalls(2, { own: 0, 'temp:m': 1 });
    await turn.settle(1, 1, { n: 1 }, { stateDelta: { own: 2 } });
    await expect(turn.peek(2)).rejects.toBeInstanceOf(StoreBehindHistory);
    await expect(turn.peek(3)).rejects.toBeInstanceOf(StoreBehindHistory);
    await turn.settle(1, 0, { n: 0 }, { stateDelta: { own: 1, 'temp:t': 1 } });
    const peeked = await turn.peek(2);
    expect(peeked).toEqual({
      names: turn.names,
      begun: false,
      remembered: { toolEdits: [], ends: false },
      responses: {
        invocationId: turn.invocationId,
        author: 'clerk',
        content: {
          role: 'user',
          parts: [0, 1].map((n) => ({
            functionResponse: { id: `call_${n}`, name: 'pay', response: { n } },
          })),
        },
        actions: createEventActions({ stateDelta: { own: 2, 'temp:t': 1 } }),
      },
      answers: { runKey: turn.invocationId, step: 1 },
      state: { own: 0, 'temp:m': 1 },
      userContent: { role: 'user', parts: [{ text: 'hi' }] },
      seq: 2,
      from: 1,
    });
    expect(await turn.peek(2)).toEqual(peeked);
    expect(await turn.events()).toHaveLength(2);
    await turn.opened(2);
    const { responses: _responses, answers: _answers, ...rest } = peeked;
    expect(await turn.peek(2)).toEqual({
      ...rest,
      begun: true,
      remembered: { toolEdits: [], ends: false },
      state: { own: 2, 'temp:m': 1, 'temp:t': 1 },
      seq: 3,
    });
    await turn.commit(2, 0);
    expect(await turn.peek(3)).toMatchObject({ begun: true });
  });

  test('who peeks is told what the turn was asked to be, and whose calls the responses of a retry answer [session.retry]', async () => {
    const asked = { agent: 'clerk', runConfig: { maxLlmCalls: 3 } };
    const turn = new Turn(store());
    await turn.opened(1, { asked });
    await turn.commit(1, 0);
    const old = new Turn(store(), { names: turn.names });
    await old.opened(1, { asked });
    await old.commit(1, 1, { retryable: true });
    await old.settle(1, 0, { ok: 1 });
    await old.opened(2);
    await old.commit(2, 0);
    const prepared = await store().sessions.prepareRetry({ ...old.names, callKey: old.callKey(1, 0) });
    const { turn: retry } = await takeUp(store(), old.names, prepared);
    await retry.settle(1, 0, { ok: 2 });
    expect(await retry.peek(2)).toMatchObject({
      begun: false,
      asked,
      answers: { runKey: old.invocationId, step: 1 },
      responses: { content: { parts: [{ functionResponse: { response: { ok: 2 } } }] } },
    });
  });

  test('who peeks is told of no session and no run that are missing [store.behind]', async () => {
    const turn = await withCalls();
    const other = { invocationId: 'e-other', runKey: 'e-other' };
    await expect(store().turns.peekStep({ session: turn.session, ...other, step: 2 })).rejects.toBeInstanceOf(
      StoreBehindHistory,
    );
    await expect(store().turns.peekStep({ session: 'none', ...other, step: 1 })).rejects.toBeInstanceOf(
      StoreBehindHistory,
    );
  });

  test('a look is one statement, and one that can not write', async () => {
    const turn = await withCalls(3);
    for (const index of [0, 1, 2]) await turn.settle(1, index, { index });
    const watched = await watchingReads(() => turn.peek(2));
    expect(watched).toHaveLength(1);
    const { rows } = await sql<{ provolatile: string }>`
      select distinct provolatile from pg_proc
      where proname in ('peek_step', 'merged_responses', 'behind', 'answered_run', 'answered_content')`.execute(
      store().db,
    );
    expect(rows).toEqual([{ provolatile: 's' }]);
  });

  test('what a plugin made of the responses is appended in their place, once [plugin.events]', async () => {
    const turn = await withCalls(1, { 'temp:m': 1 });
    await turn.settle(1, 0, { ok: true }, { stateDelta: { merged: 1 } });
    const responses = given(turn, 'mine', { stateDelta: { own: 1, 'app:x': 1, 'temp:t': 2 } });
    const zombie = new Turn(store(), turn);
    Object.assign(zombie, { session: turn.session });
    const opened = await losingAnswers(() => turn.opened(2, { responses, knownSeq: 2 }));
    expect(opened).toMatchObject({ seq: 3, attempt: 1 });
    expect(opened.state).toEqual({ own: 1, 'app:x': 1, 'temp:m': 1, 'temp:t': 2 });
    const event = {
      ...responses,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      timestamp: expect.any(Number),
      actions: createEventActions({ stateDelta: { own: 1, 'app:x': 1 } }),
    };
    expect(opened.events).toEqual([{ seq: 3, kind: 'responses', runKey: turn.invocationId, step: 1, event }]);
    // Another attempt may have asked a plugin that says something else now.
    const late = await zombie.opened(2, { responses: given(zombie, 'other', { stateDelta: { own: 9 } }) });
    expect(late).toMatchObject({ seq: 3, attempt: 2, state: opened.state });
    expect(late.events.at(-1)).toEqual(opened.events[0]);
    expect((await turn.opened(2)).seq).toBe(3);
    const stored = await turn.events();
    expect(stored).toHaveLength(3);
    expect(JSON.stringify(stored)).not.toContain('temp:');
  });

  test('responses of a plugin pass no fence and replace no call that is open [store.fence]', async () => {
    const turn = await withCalls(2);
    await turn.settle(1, 0, { ok: true });
    const responses = given(turn, 'mine', { stateDelta: { own: 1 } });
    await expect(turn.open(2, { responses })).rejects.toBeInstanceOf(StoreBehindHistory);
    await turn.settle(1, 1, { ok: true });
    const resent = new Turn(store(), { ...turn, fence: nextFence() });
    expect((await resent.open(1)).kind).toBe('recorded');
    await expect(turn.open(2, { responses })).rejects.toBeInstanceOf(Fenced);
    expect(await resent.events()).toHaveLength(2);
    expect(await resent.opened(2)).toMatchObject({ seq: 3, state: {} });
  });

  test('a step that had no calls has no responses to replace', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const { session, invocationId, fence } = turn;
    const child = { session, invocationId, runKey: 'e-child', fence };
    await store().turns.openStep({ ...child, step: 1, seq: 0 });
    await store().turns.commitStep({
      ...child,
      step: 1,
      agent: 'helper',
      events: [],
      calls: [],
      rows: [],
      usage: USAGE,
      outcome: {
        v: 1,
        kind: 'calls',
        session,
        seq: 0,
        agent: 'helper',
        model: 'gemini',
        calls: [],
        schedules: {},
        maxParallelCalls: 1,
        usage: USAGE,
      },
    });
    expect(await store().turns.peekStep({ ...child, step: 2 })).not.toHaveProperty('responses');
    const opened = await store().turns.openStep({
      ...child,
      step: 2,
      seq: 0,
      responses: given(turn, 'mine'),
    });
    expect(opened).toMatchObject({ kind: 'open', seq: 1 });
  });

  test('what is recorded once under a step’s key is found by each later attempt [callback.once]', async () => {
    const turn = new Turn(store());
    expect((await turn.opened(1)).once).toEqual({});
    const once = { session: turn.session, callKey: `${turn.invocationId}.1` };
    expect(await store().turns.recordOnce({ ...once, key: 'before', value: { said: [1] } })).toEqual({
      said: [1],
    });
    expect(await store().turns.recordOnce({ ...once, key: 'before', value: 'late' })).toEqual({ said: [1] });
    await store().turns.recordOnce({ ...once, key: 'run', value: null });
    expect((await turn.opened(1)).once).toEqual({ before: { said: [1] }, run: null });
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    expect((await turn.opened(2)).once).toEqual({});
    const missing = { session: turn.session, callKey: `${turn.invocationId}.3`, key: 'k', value: 1 };
    await expect(store().turns.recordOnce(missing)).rejects.toBeInstanceOf(StoreBehindHistory);
  });

  test('a turn that ends between models has the responses that it is given, its open calls cut off [plugin.events]', async () => {
    const turn = await withCalls(2);
    await turn.settle(1, 0, { ok: true }, { stateDelta: { merged: 1 } });
    const responses = given(turn, 'mine', { stateDelta: { own: 1, 'temp:t': 1 } });
    const end = () => turn.end(1, [], { status: 'completed', usage: USAGE }, 'stopped', { responses });
    const ended = await losingAnswers(end);
    expect(ended).toMatchObject({ seq: 3, outcome: { status: 'completed' } });
    expect(await end()).toEqual(ended);
    const events = await turn.events();
    expect(events.map(({ kind, step }) => [kind, step])).toEqual([
      ['message', 1],
      ['model', 1],
      ['responses', 1],
    ]);
    expect(events[2]?.event).toMatchObject({ author: 'plugin', content: responses.content });
    expect((await store().sessions.get(turn.names))?.state).toEqual({ own: 1 });
    expect(await turn.begin(1, 1)).toMatchObject({ kind: 'settled', response: { error: 'stopped' } });

    const answered = await withCalls(1);
    await answered.settle(1, 0, { ok: true });
    await answered.opened(2);
    await answered.end(2, [], { status: 'interrupted', usage: USAGE }, undefined, { responses });
    expect((await answered.events()).map(({ event }) => event.author)).toEqual(['user', 'clerk', 'clerk']);
  });
}
