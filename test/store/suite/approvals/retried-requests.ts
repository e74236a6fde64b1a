import { expect, test } from 'vitest';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import { requestIdOf } from '../../../../src/protocol/gate.ts';
import { callKeyOf, retryIdOf } from '../../../../src/protocol/identity.ts';
import type { NewRequest } from '../../../../src/store/approvals/approval-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { PreparedRetry } from '../../../../src/store/sessions/session-store.ts';
import type { OpenedStep } from '../../../../src/store/turns/step-store.ts';
import { USAGE } from '../turns/turn.ts';
import { ADA, AskingTurn, entry } from './asking-turn.ts';

const COMPLETED = { status: 'completed' as const, usage: USAGE };

export function retriedRequestSuite(store: () => PostgresStore): void {
  /** Four gated calls: one approved and run, one rejected, one that the end cut off, one that was answered before. */
  async function ended(): Promise<{ turn: AskingTurn; requests: NewRequest[] }> {
    const turn = new AskingTurn(store());
    await turn.opened(1, { requester: 'carol' });
    const requests = [0, 1, 2].map((index) =>
      turn.request(1, index, { hint: `Pay ${index}?`, payload: { index }, terms: { quorum: 1 } }),
    );
    await turn.commitAsking(1, requests, {
      calls: 4,
      rows: [
        {
          callKey: turn.callKey(1, 1),
          index: 1,
          callId: 'call_1',
          tool: 'pay',
          actions: { stateDelta: { before: 1 } },
        },
      ],
    });
    const [first, second] = requests as [NewRequest, NewRequest];
    await turn.beginAnswered(first, [entry(first.requestId, 1, 'approved', { by: ADA })]);
    await turn.settle(1, 0, { ok: 0 });
    await turn.record(entry(second.requestId, 1, 'rejected', { by: ADA }));
    await turn.settle(1, 1, { error: 'rejected' });
    await turn.begin(1, 3);
    await turn.settle(1, 3, { ok: 3 });
    await turn.end(1, [], { ...COMPLETED, status: 'interrupted' });
    return { turn, requests };
  }

  async function takeUp(turn: AskingTurn, { invocationId, messageId }: PreparedRetry) {
    const { names } = turn;
    const retry = Object.assign(new AskingTurn(store(), { names, messageId }), { invocationId });
    const opened = await store().turns.openStep({
      identity: { ...names, messageId },
      invocationId,
      runKey: invocationId,
      step: 1,
      fence: retry.fence,
      seq: 0,
    });
    retry.session = opened.session;
    return { retry, opened: opened as Extract<OpenedStep, { kind: 'recorded' }> };
  }

  test('a retry asks anew for the calls that run anew, and for no others [confirm.once]', async () => {
    const { turn, requests } = await ended();
    const callKey = turn.callKey(1, 1);
    const notices: unknown[] = [];
    const stop = store().live.onNotice((notice) => notices.push(notice));
    const prepared = await store().sessions.prepareRetry({ ...turn.names, callKey });
    stop();
    const run = retryIdOf(turn.invocationId, 1);
    const again = [1, 2].map((index) => requestIdOf(callKeyOf(run, 1, index), 1));

    const pending = await store().approvals.list(turn.names);
    expect(pending.map(({ requestId }) => requestId)).toEqual(again);
    expect(pending).toMatchObject(
      [1, 2].map((index) => {
        const { requestId: _id, callKey: _key, ...copied } = requests[index] as NewRequest;
        return { ...copied, callKey: callKeyOf(run, 1, index), runKey: run, requester: 'carol' };
      }),
    );
    expect(pending[0]).toMatchObject({ status: 'pending', votes: [], history: [] });
    expect(await turn.row(requests[1]?.requestId ?? '')).toMatchObject({ status: 'rejected' });

    const events = visibleEvents(await turn.events());
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [6, 'request'],
    ]);
    expect(notices).toEqual([{ type: 'appended', session: turn.session, seq: 6 }]);
    expect(events.at(-1)).toMatchObject({ runKey: run, step: 1 });
    expect(events.at(-1)?.event).toMatchObject({
      invocationId: run,
      author: 'clerk',
      longRunningToolIds: again,
      content: {
        role: 'user',
        parts: [1, 2].map((index, nth) => ({
          functionCall: {
            id: again[nth],
            name: 'adk_request_confirmation',
            args: { originalFunctionCall: { id: `call_${index}` } },
          },
        })),
      },
    });
    expect(Object.keys(events.at(-1)?.event.actions.requestedToolConfirmations ?? {})).toEqual([
      'call_1',
      'call_2',
    ]);

    const { retry, opened } = await takeUp(turn, prepared);
    expect(opened).toMatchObject({ kind: 'recorded', seq: 6, outcome: { seq: 6 } });
    const { outcome } = opened;
    const calls = outcome.kind === 'calls' ? outcome.calls : [];
    expect(calls.map(({ gate }) => gate?.requestId)).toEqual([undefined, ...again, undefined]);
    expect(await retry.begin(1, 0)).toMatchObject({ kind: 'settled', response: { ok: 0 } });
    const [first] = pending as unknown as [NewRequest];
    expect(await retry.beginAnswered(first, [entry(first.requestId, 1, 'approved')])).toMatchObject({
      kind: 'started',
      attempt: 1,
      unknown: false,
      prepared: { stateDelta: { before: 1 } },
      requests: [{ requestId: first.requestId }],
    });
    expect(await store().approvals.verifyAudit(turn.session)).toMatchObject({ ok: true });
  });

  test('a retry that is prepared again before it ran asks once [session.retry]', async () => {
    const { turn } = await ended();
    const retry = { ...turn.names, callKey: turn.callKey(1, 2) };
    const prepared = await Promise.all([1, 2, 3].map(() => store().sessions.prepareRetry(retry)));
    expect(prepared[1]).toEqual(prepared[0]);
    expect(prepared[2]).toEqual(prepared[0]);
    expect(await store().approvals.list(turn.names)).toHaveLength(1);
    const other = await store().sessions.prepareRetry({ ...retry, callKey: turn.callKey(1, 0) });
    expect(other.generation).toBe(2);
    // The one before was never taken up: what it asked is cancelled with it.
    const pending = await store().approvals.list(turn.names);
    expect(pending.map(({ runKey }) => runKey)).toEqual([other.invocationId, other.invocationId]);
    expect((await turn.events()).filter(({ kind }) => kind === 'request')).toHaveLength(3);
  });

  test('a retry of a retry asks as the first turn did [session.retry]', async () => {
    const { turn, requests } = await ended();
    const first = await store().sessions.prepareRetry({ ...turn.names, callKey: turn.callKey(1, 2) });
    const { retry } = await takeUp(turn, first);
    await retry.end(1, [], { ...COMPLETED, status: 'interrupted' });
    const second = await store().sessions.prepareRetry({ ...turn.names, callKey: retry.callKey(1, 2) });
    expect(second.generation).toBe(2);
    const [pending] = await store().approvals.list(turn.names);
    expect(pending).toMatchObject({
      callKey: callKeyOf(second.invocationId, 1, 2),
      hint: requests[2]?.hint,
      payload: { index: 2 },
    });
    expect((await turn.events()).at(-1)?.event.longRunningToolIds).toEqual([pending?.requestId]);
  });

  test('a call that settles while its retry is prepared keeps its outcome, and asks nobody', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const requests = [0, 1].map((index) => turn.request(1, index));
    await turn.commitAsking(1, requests);
    const late = requests[1] as NewRequest;
    await turn.beginAnswered(late, [entry(late.requestId, 1, 'approved')]);
    const retry = { ...turn.names, callKey: turn.callKey(1, 0), interrupts: true };
    const [prepared] = await Promise.all([
      store().sessions.prepareRetry(retry),
      turn.settle(1, 1, { ok: 1 }),
    ]);
    const { opened } = await takeUp(turn, prepared);
    const calls = opened.outcome.kind === 'calls' ? opened.outcome.calls : [];
    const pending = await store().approvals.list(turn.names);
    expect(calls.flatMap(({ gate }) => (gate === undefined ? [] : [gate.requestId]))).toEqual(
      pending.map(({ requestId }) => requestId),
    );
  });
}
