import { createEventActions } from '../../../../src/events/event-actions.ts';
import type { PlannedCall } from '../../../../src/protocol/step.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import type { PreparedRetry } from '../../../../src/store/sessions/session-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import type { OpenedStep, PlannedRow } from '../../../../src/store/turns/step-store.ts';
import { newNames, Turn, USAGE } from '../turns/turn.ts';

export const LARGE = { large: 'x'.repeat(5_000) };

/** A step that asks for calls as `callModel` plans them: inline, by reference, and one that is answered at once. */
export async function commitCalls(turn: Turn, step: number): Promise<void> {
  const { session, invocationId, fence } = turn;
  const callKey = (index: number) => turn.callKey(step, index);
  const call = (index: number) => ({ callKey: callKey(index), callId: `call_${index}`, tool: 'pay' });
  const ref = { key: callKey(1), digest: 'digest', bytes: 5_012, gist: 'large' };
  const calls: PlannedCall[] = [
    { ...call(0), args: { value: { n: 0 } }, summary: 'n' },
    { ...call(1), args: { ref } },
    { ...call(2), args: { value: { n: 2 } } },
  ];
  const rows: PlannedRow[] = [
    { ...call(1), index: 1, args: LARGE },
    { ...call(3), index: 3, response: { error: 'unknown tool' } },
  ];
  const all = [...calls.map(({ args: _args, summary: _summary, ...rest }) => rest), call(3)];
  const committed = await turn.store.turns.commitStep({
    session,
    invocationId,
    runKey: invocationId,
    step,
    fence,
    agent: 'clerk',
    events: [
      {
        kind: 'model',
        event: {
          invocationId,
          author: 'clerk',
          content: {
            role: 'model',
            parts: all.map(({ callId }) => ({ functionCall: { id: callId, name: 'pay', args: {} } })),
          },
          actions: createEventActions({ stateDelta: { model: step } }),
        },
      },
    ],
    calls: all,
    rows,
    usage: USAGE,
    outcome: {
      v: 1,
      kind: 'calls',
      session,
      seq: 0,
      agent: 'clerk',
      model: 'gemini',
      calls,
      schedules: {},
      maxParallelCalls: 32,
      usage: USAGE,
    },
  });
  turn.seq = committed.seq;
}

/** A step whose second call failed, one whose calls succeeded, and an answer. */
export async function endedTurn(store: Store, names = newNames()): Promise<Turn> {
  const turn = new Turn(store, { names });
  await turn.opened(1, { stateDelta: { message: 1 } });
  await commitCalls(turn, 1);
  for (const index of [0, 1, 2]) await turn.begin(1, index);
  await turn.settle(1, 0, { ok: 0 }, { stateDelta: { call: 0, 'app:x': 1 } });
  await turn.settle(1, 1, { error: 'out of paper' });
  await turn.settle(1, 2, { ok: 2 });
  await turn.opened(2);
  await commitCalls(turn, 2);
  for (const index of [0, 1, 2]) await turn.settle(2, index, { ok: index });
  await turn.opened(3);
  await turn.commit(3, 0);
  return turn;
}

/** What the retry's workflow does first. */
export async function takeUp(
  store: Store,
  names: SessionNames,
  prepared: PreparedRetry,
): Promise<{ turn: Turn; opened: OpenedStep }> {
  const { invocationId, messageId } = prepared;
  const turn = Object.assign(new Turn(store, { names, messageId }), { invocationId });
  const opened = await store.turns.openStep({
    identity: { ...names, messageId },
    invocationId,
    runKey: invocationId,
    step: 1,
    fence: turn.fence,
    seq: 0,
  });
  turn.session = opened.session;
  turn.seq = opened.seq;
  // As the activity does.
  if (opened.kind === 'recorded') turn.fence = { ...turn.fence, startedAt: opened.startedAt };
  return { turn, opened };
}
