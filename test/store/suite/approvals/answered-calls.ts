import { expect, test } from 'vitest';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { losingAnswers } from '../statements.ts';
import { USAGE } from '../turns/turn.ts';
import { ADA, AskingTurn, BOB, entry } from './asking-turn.ts';

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function answeredCallSuite(store: () => PostgresStore): void {
  test('an approved call begins once, with its request and the answer [confirm.once]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const approved = entry(request.requestId, 1, 'approved', { by: ADA, payload: { limit: 40 } });
    const begun = await turn.beginAnswered(request, [approved]);
    expect(begun).toMatchObject({
      kind: 'started',
      attempt: 1,
      unknown: false,
      names: turn.names,
      invocationId: turn.invocationId,
      userContent: { parts: [{ text: 'hi' }] },
      requests: [
        {
          requestId: request.requestId,
          status: 'approved',
          decidedAt: approved.at,
          answerPayload: { limit: 40 },
          votes: [{ by: ADA, confirmed: true, at: approved.at }],
        },
      ],
    });
    expect(await turn.beginAnswered(request, [approved])).toMatchObject({ attempt: 2, unknown: true });
    await turn.settle(1, 0, { ok: true });
    expect(await turn.beginAnswered(request, [approved])).toEqual({
      kind: 'settled',
      response: { ok: true },
      failed: false,
      actions: {},
    });
    expect((await store().sessions.readAudit(turn.session)).map(({ kind }) => kind)).toEqual([
      'requested',
      'approved',
    ]);
  });

  test('attempts that begin at once are one start for each approval [confirm.once]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const approved = entry(request.requestId, 1, 'approved', { by: ADA });
    const begun = await Promise.all(Array.from({ length: 8 }, () => turn.beginAnswered(request, [approved])));
    const known = begun.filter((one) => one.kind === 'started' && !one.unknown);
    expect(known).toMatchObject([{ attempt: 1 }]);
    expect(begun.map((one) => one.kind === 'started' && one.attempt).toSorted()).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    expect(await store().sessions.readAudit(turn.session)).toHaveLength(2);
  });

  test('an attempt that begins after a later one is refused, and counts for nothing [turn.late]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const approved = [entry(request.requestId, 1, 'approved', { by: ADA })];
    expect(await turn.beginAnswered(request, approved, { scheduledAt: 2_000 })).toMatchObject({ attempt: 1 });
    const late = turn.beginAnswered(request, approved, { scheduledAt: 1_000 });
    await expect(late).rejects.toMatchObject({ code: 'HOLDFAST_ATTEMPT_REPLACED' });
    expect(await turn.beginAnswered(request, approved, { scheduledAt: 3_000 })).toMatchObject({ attempt: 2 });
  });

  test('a beginning whose answer is lost is no second one [confirm.once]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const begun = await losingAnswers(() =>
      turn.beginAnswered(request, [entry(request.requestId, 1, 'approved', { by: ADA })]),
    );
    expect(begun).toMatchObject({ kind: 'started', attempt: 1, unknown: false });
  });

  test('an attempt that recorded its failure leaves no unknown outcome', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const entries = [entry(request.requestId, 1, 'approved')];
    await turn.beginAnswered(request, entries);
    const { session } = turn;
    await store().turns.recordCallFailure({
      session,
      callKey: request.callKey,
      error: 'no paper',
      attempt: 1,
    });
    expect(await turn.beginAnswered(request, entries)).toMatchObject({
      attempt: 2,
      unknown: false,
      failures: 1,
      lastError: 'no paper',
    });
    expect(await turn.beginAnswered(request, entries)).toMatchObject({ attempt: 3, unknown: true });
  });

  test('an attempt of unknown outcome before the answer is none after it [confirm.inside]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    await turn.begin(1, 0);
    const request = turn.request(1, 0);
    expect(await turn.suspend(request, 1)).toBe(false);
    expect(await turn.suspend(request, 2)).toBe(true);
    const entries = [entry(request.requestId, 1, 'approved')];
    expect(await turn.beginAnswered(request, entries)).toMatchObject({ attempt: 3, unknown: false });
    expect(await turn.beginAnswered(request, entries)).toMatchObject({ attempt: 4, unknown: true });
  });

  test('a request that was answered otherwise keeps its call from running [confirm.once]', async () => {
    for (const before of ['rejected', 'expired', 'cancelled'] as const) {
      const turn = new AskingTurn(store());
      const request = await turn.asked();
      await turn.record(entry(request.requestId, 1, before));
      const begun = await turn.beginAnswered(request, [entry(request.requestId, 1, 'approved')]);
      expect(begun).toMatchObject({ kind: 'closed', request: { ...turn.names, status: before } });
      expect(
        await store().turns.findCall({ session: turn.session, callKey: request.callKey }),
      ).toBeUndefined();
      expect(await store().sessions.readAudit(turn.session)).toHaveLength(3);
    }
    for (const status of ['pending', 'cancelled'] as const) {
      const turn = new AskingTurn(store());
      const request = await turn.asked();
      if (status === 'cancelled') await turn.record(entry(request.requestId, 1, status));
      expect(await turn.beginAnswered(request, [])).toMatchObject({ kind: 'closed', request: { status } });
    }
  });

  test('a tool that asked goes on with a rejection, too [confirm.inside]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const request = turn.request(1, 0);
    await turn.suspend(request, 1);
    const entries = [entry(request.requestId, 1, 'rejected', { by: BOB, reason: 'too much' })];
    for (const attempt of [2, 3]) {
      expect(await turn.beginAnswered(request, entries)).toMatchObject({
        kind: 'started',
        attempt,
        requests: [{ status: 'rejected', reason: 'too much', votes: [{ by: BOB, confirmed: false }] }],
      });
    }
  });

  test('an attempt that holds its question open goes on, unless another one has begun [mcp.held]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const held = turn.request(1, 0, { kind: 'input' }, 1_001);
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    expect(await turn.suspend(held, 1, { holds: true })).toBe(true);
    expect(await turn.suspend(held, 1, { holds: true })).toBe(true);
    stop();
    expect(notices).toEqual([{ type: 'appended', session: turn.session, seq: 3 }]);
    await turn.record(entry(held.requestId, 1, 'answered', { by: BOB, response: 4 }));
    await turn.record(entry(held.requestId, 2, 'expired'));
    expect(await turn.row(held.requestId)).toMatchObject({ status: 'answered', response: 4 });
    // It has left no outcome, whatever was answered.
    expect(await turn.begin(1, 0)).toMatchObject({ attempt: 2, unknown: true });
    const late = turn.request(1, 0, { kind: 'input' }, 1_002);
    expect(await turn.suspend(late, 1, { holds: true })).toBe(false);
    expect(await turn.suspend(late, 2, { holds: true })).toBe(true);
  });

  test('a call that asks while it runs waits, and its next attempt is no second one [confirm.inside]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const first = turn.request(1, 0, { kind: 'input', responseSchema: { type: 'string' } });
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    expect(await turn.suspend(first, 1)).toBe(true);
    expect(await turn.suspend({ ...first, hint: 'another' }, 1)).toBe(true);
    stop();
    expect(notices).toEqual([{ type: 'appended', session: turn.session, seq: 3 }]);
    expect((await turn.row(first.requestId))?.hint).toBe(first.hint);

    const answered = entry(first.requestId, 1, 'answered', { by: BOB, response: null });
    expect(await turn.beginAnswered(first, [answered])).toMatchObject({
      attempt: 2,
      unknown: false,
      requests: [{ status: 'answered', response: null, responseSchema: { type: 'string' } }],
    });
    const second = turn.request(1, 0, { kind: 'credential', authConfig: AUTH }, 2);
    expect(await turn.suspend(second, 1)).toBe(false);
    expect(await turn.suspend(second, 2)).toBe(true);
    const given = entry(second.requestId, 1, 'answered', { credentialRef: 'cr-1' });
    expect(await turn.beginAnswered(second, [given])).toMatchObject({
      attempt: 3,
      unknown: false,
      requests: [
        { requestId: first.requestId },
        { requestId: second.requestId, credentialRef: 'cr-1', authConfig: AUTH },
      ],
    });
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    expect((await turn.events()).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [3, 'request'],
      [4, 'request'],
      [5, 'responses'],
    ]);
  });

  test('the tenth request of a call comes behind the ninth [confirm.inside]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    for (let n = 1; n <= 10; n += 1) {
      const request = turn.request(1, 0, {}, n);
      expect(await turn.suspend(request, n)).toBe(true);
      const begun = await turn.beginAnswered(request, [entry(request.requestId, 1, 'approved')]);
      expect(begun).toMatchObject({ attempt: n + 1, unknown: false });
      const numbers = begun.kind === 'started' && begun.requests.map(({ requestId }) => requestId);
      expect(numbers).toEqual(
        Array.from({ length: n }, (_, index) => turn.request(1, 0, {}, index + 1).requestId),
      );
    }
  });

  test('nothing is asked where a call is settled, its step is over, or its turn has ended', async () => {
    const settled = new AskingTurn(store());
    await settled.opened(1);
    await settled.commit(1, 2);
    await settled.begin(1, 0);
    await settled.settle(1, 0, { ok: true });
    expect(await settled.suspend(settled.request(1, 0), 1)).toBe(false);
    await settled.begin(1, 1);
    await settled.settle(1, 1, { ok: true });
    await settled.opened(2);
    expect(await settled.suspend(settled.request(1, 1), 1)).toBe(false);

    const ended = new AskingTurn(store());
    await ended.opened(1);
    await ended.commit(1, 1);
    await ended.begin(1, 0);
    await ended.end(1, [], INTERRUPTED);
    const request = ended.request(1, 0);
    expect(await ended.suspend(request, 1)).toBe(false);
    expect(await ended.row(request.requestId)).toBeUndefined();
    await expect(ended.suspend(ended.request(1, 7), 1)).rejects.toMatchObject({
      code: 'HOLDFAST_STORE_BEHIND_HISTORY',
    });
  });

  test('what callbacks did when a call was planned goes with it, or is its outcome [confirm.callbacks]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const request = turn.request(1, 0);
    const row = (index: number) => ({
      callKey: turn.callKey(1, index),
      index,
      callId: `call_${index}`,
      tool: 'pay',
    });
    const actions = (key: string) => ({ stateDelta: { [key]: 1 } });
    await turn.commitAsking(1, [request], {
      calls: 3,
      rows: [
        { ...row(0), actions: actions('gated') },
        { ...row(1), actions: actions('open'), args: { large: true } },
        { ...row(2), actions: actions('answered'), response: { ok: 2 } },
      ],
    });
    expect(await turn.begin(1, 1, true)).toMatchObject({
      prepared: actions('open'),
      args: { large: true },
      attempt: 1,
    });
    expect(await turn.begin(1, 2)).toMatchObject({ kind: 'settled', actions: actions('answered') });
    const begun = await turn.beginAnswered(request, [entry(request.requestId, 1, 'approved')], {
      seesSiblings: true,
    });
    expect(begun).toMatchObject({ prepared: actions('gated'), state: { answered: 1 } });
    await turn.settle(1, 0, { ok: 0 }, actions('settled'));
    await turn.settle(1, 1, { ok: 1 });
    const { state } = await turn.opened(2);
    expect(state).toEqual({ settled: 1, answered: 1 });
  });

  test('the event of a request may change state, and is there for the transcript', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const request = turn.request(1, 0);
    const { session, invocationId } = turn;
    const event = {
      ...turn.requestEvent([request]),
      actions: createEventActions({ stateDelta: { asked: 1, 'temp:asked': 2 } }),
    };
    const suspend = { session, runKey: invocationId, callKey: request.callKey, attempt: 1, request, event };
    await losingAnswers(() => store().approvals.suspendCall(suspend));
    const begun = await turn.beginAnswered(request, [entry(request.requestId, 1, 'approved')]);
    expect(begun).toMatchObject({ state: { asked: 1, 'temp:asked': 2 } });
    expect((await turn.events()).at(-1)).toMatchObject({
      kind: 'request',
      runKey: invocationId,
      step: 1,
      event: { author: 'clerk', longRunningToolIds: [request.requestId] },
    });
  });
}

const AUTH = { authScheme: { type: 'apiKey', name: 'k', in: 'header' }, credentialKey: 'shop' };
