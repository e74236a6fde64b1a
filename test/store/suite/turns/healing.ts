import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Fenced } from '../../../../src/store/store-errors.ts';
import { endedTurn, takeUp } from '../sessions/retried-turn.ts';
import { newNames, Turn, total, USAGE } from './turn.ts';

const CUT_OFF = { error: 'this call was cut off by the end of its turn; it may have run' };

export function healingSuite(store: () => PostgresStore): void {
  test('the first step of an invocation answers every call that an earlier one left open [store.heal]', async () => {
    const names = newNames();
    const broken = new Turn(store(), { names });
    await broken.opened(1, { stateDelta: { 'temp:note': 1 } });
    await broken.commit(1, 3, { branch: 'clerk.payments' });
    await broken.begin(1, 0);
    await broken.settle(1, 1, { ok: true }, { stateDelta: { paid: true, 'temp:note': 2 } });

    const next = new Turn(store(), { names });
    const opened = await next.opened(1, { text: 'and now?' });
    expect(opened.events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'message'],
      [2, 'model'],
      [3, 'responses'],
      [4, 'message'],
    ]);
    expect(opened.from).toBe(4);
    expect(opened.state).toEqual({ paid: true });
    expect(opened.events[2]).toMatchObject({
      runKey: broken.invocationId,
      step: 1,
      event: {
        invocationId: broken.invocationId,
        author: 'clerk',
        branch: 'clerk.payments',
        content: {
          role: 'user',
          parts: [
            { functionResponse: { id: 'call_0', response: CUT_OFF } },
            { functionResponse: { id: 'call_1', response: { ok: true } } },
            { functionResponse: { id: 'call_2', response: CUT_OFF } },
          ],
        },
        actions: { stateDelta: { paid: true } },
      },
    });
    expect(await store().turns.findInvocation(names, broken.invocationId)).toMatchObject({
      status: 'interrupted',
      from: 1,
      to: 3,
      outcome: { status: 'interrupted', usage: USAGE },
    });
    // What the model was told stays what the call came to.
    expect(await broken.settle(1, 0, { ok: 'late' })).toMatchObject({ first: false, response: CUT_OFF });
    await next.opened(1);
    expect(await next.events()).toHaveLength(4);
  });

  test('a turn that was cut off in a model call leaves nothing to answer', async () => {
    const names = newNames();
    const broken = new Turn(store(), { names });
    await broken.opened(1);
    await broken.commit(1, 1);
    await broken.settle(1, 0, { ok: true });
    await broken.opened(2);
    const next = new Turn(store(), { names });
    expect((await next.opened(1)).events.map(({ kind }) => kind)).toEqual([
      'message',
      'model',
      'responses',
      'message',
    ]);
  });

  test('a prepared retry is taken up under the fence of its chain, and goes on to its next step [session.retry]', async () => {
    const old = await endedTurn(store());
    const { names } = old;
    const prepared = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) });
    const lower = new Turn(store(), { ...old, fence: { ...old.fence, startedAt: old.fence.startedAt - 1 } });
    Object.assign(lower, { invocationId: prepared.invocationId });
    // Of a clock that was set back: what raises the fence of any other first step raises this one's.
    await expect(lower.open(1)).rejects.toBeInstanceOf(Fenced);
    const { turn, opened } = await takeUp(store(), names, prepared);
    expect(opened).toMatchObject({ kind: 'recorded', startedAt: turn.fence.startedAt });
    expect(await store().turns.newestFence(names)).toEqual(turn.fence);
    await turn.settle(1, 1, { ok: 'printed' });
    await turn.opened(2);
    await turn.commit(2, 0);
    expect(await store().turns.findInvocation(names, old.invocationId)).toMatchObject({
      invocationId: turn.invocationId,
      status: 'completed',
    });
    const late = new Turn(store(), { names, fence: old.fence });
    await expect(late.open(1)).rejects.toBeInstanceOf(Fenced);
  });

  test('several broken turns are healed in their order [store.heal]', async () => {
    const names = newNames();
    const root = new Turn(store(), { names });
    await root.opened(1);
    await root.commit(1, 1);
    const sibling = await store().turns.openStep({
      session: root.session,
      invocationId: root.invocationId,
      runKey: 'e-child',
      step: 1,
      fence: root.fence,
      seq: 2,
    });
    expect(sibling).toMatchObject({ kind: 'open', seq: 2, from: 3 });
    await store().turns.commitStep({
      session: root.session,
      invocationId: root.invocationId,
      runKey: 'e-child',
      step: 1,
      fence: root.fence,
      agent: 'helper',
      events: [
        {
          kind: 'model',
          event: {
            invocationId: root.invocationId,
            actions: {
              stateDelta: {},
              artifactDelta: {},
              requestedAuthConfigs: {},
              requestedToolConfirmations: {},
            },
          },
        },
      ],
      calls: [{ callKey: 'e-child.1.0', callId: 'c', tool: 'look' }],
      rows: [],
      usage: USAGE,
      outcome: {
        v: 1,
        kind: 'calls',
        session: '',
        seq: 0,
        agent: 'helper',
        model: 'm',
        calls: [],
        schedules: {},
        maxParallelCalls: 1,
        usage: USAGE,
      },
    });
    const next = new Turn(store(), { names });
    const { events, lastAgent } = await next.opened(1);
    expect(events.map(({ seq, kind, runKey }) => [seq, kind, runKey])).toEqual([
      [1, 'message', root.invocationId],
      [2, 'model', root.invocationId],
      [3, 'model', 'e-child'],
      [4, 'responses', root.invocationId],
      [5, 'responses', 'e-child'],
      [6, 'message', next.invocationId],
    ]);
    expect(lastAgent).toBe('clerk');
    // What a child used counts for the invocation too.
    expect((await store().turns.findInvocation(names, root.invocationId))?.outcome?.usage).toEqual(total(2));
  });
}
