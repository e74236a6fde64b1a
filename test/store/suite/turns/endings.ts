import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { InvocationOutcome } from '../../../../src/protocol/turn.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Fenced } from '../../../../src/store/store-errors.ts';
import { commitCalls, takeUp } from '../sessions/retried-turn.ts';
import { newNames, nextFence, Turn, total, USAGE } from './turn.ts';

const INTERRUPTED: InvocationOutcome = {
  status: 'interrupted',
  error: { code: 'CANCELLED', message: 'the turn was cancelled' },
  usage: USAGE,
};

export function endingSuite(store: () => PostgresStore): void {
  /** Two steps: the first one's calls have settled, the second one is as far as the workflow knows under way. */
  async function inSecondStep() {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    return turn;
  }

  const kindsOf = async (turn: Turn) => (await turn.events()).map(({ kind, step }) => `${kind} ${step}`);
  const answersOf = async (turn: Turn, step: number) =>
    (await turn.events())
      .find((event) => event.kind === 'responses' && event.step === step)
      ?.event.content?.parts?.map((part) => part.functionResponse?.response);

  test('a turn that is ended during a model call has its responses once, and the call writes no more [steer.interrupt]', async () => {
    const turn = await inSecondStep();
    await turn.opened(2);
    expect(await turn.end(2, [], INTERRUPTED, 'cancelled: interrupted')).toEqual({
      seq: 4,
      from: 1,
      outcome: { ...INTERRUPTED, usage: { ...USAGE, modelCalls: 2, unknownCalls: 1 } },
    });
    expect(await kindsOf(turn)).toEqual(['message 1', 'model 1', 'responses 1', 'error 2']);
    expect(await answersOf(turn, 1)).toEqual([{ ok: true }]);
    await expect(turn.commit(2, 1)).rejects.toBeInstanceOf(Fenced);
    expect(await turn.open(2)).toMatchObject({ kind: 'finished', outcome: { status: 'interrupted' } });
    expect(await kindsOf(turn)).toHaveLength(4);
  });

  test('calls of a step whose answer never came are cut off, with the text that is given [steer.interrupt]', async () => {
    const turn = await inSecondStep();
    await turn.opened(2);
    const zombie = new Turn(store(), turn);
    Object.assign(zombie, { session: turn.session, seq: turn.seq });
    await zombie.commit(2, 3);
    await zombie.begin(2, 0);
    await zombie.settle(2, 1, { ok: 1 }, { stateDelta: { paid: 1 } });
    const ended = await turn.end(2, [], INTERRUPTED, 'cancelled: interrupted by a new message');
    expect(ended).toMatchObject({ seq: 6, outcome: { usage: total(2) } });
    expect(await kindsOf(turn)).toEqual([
      'message 1',
      'model 1',
      'responses 1',
      'model 2',
      'responses 2',
      'error 2',
    ]);
    const cut = { error: 'cancelled: interrupted by a new message' };
    expect(await answersOf(turn, 2)).toEqual([cut, { ok: 1 }, cut]);
    expect(await zombie.settle(2, 0, { ok: 'late' })).toMatchObject({ first: false, response: cut });
    expect(await turn.end(2, [], INTERRUPTED, 'again')).toEqual(ended);
    expect(await kindsOf(turn)).toHaveLength(6);
    expect((await new Turn(store(), { names: turn.names }).opened(1)).state).toEqual({ paid: 1 });
  });

  test('a step that was scheduled and never opened ends with the calls of the one before [steer.interrupt]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 3);
    await turn.settle(1, 1, { ok: true });
    await turn.begin(1, 0);
    const ended = await turn.end(2, [{ index: 2, step: 1, error: 'rejected' }], INTERRUPTED);
    expect(ended).toMatchObject({ seq: 4, outcome: { usage: USAGE } });
    expect(await kindsOf(turn)).toEqual(['message 1', 'model 1', 'responses 1', 'error 2']);
    expect(await answersOf(turn, 1)).toEqual([
      { error: 'this call was cut off by the end of its turn; it may have run' },
      { ok: true },
      { error: 'rejected' },
    ]);
    expect(await turn.open(2)).toMatchObject({ kind: 'finished' });
    expect(await turn.events()).toHaveLength(4);
  });

  test('a chain that took over at an earlier step answers the calls of the newest one, ending or healing', async () => {
    for (const how of ['end', 'heal'] as const) {
      const turn = await inSecondStep();
      await turn.opened(2);
      await turn.commit(2, 1);
      const resent = new Turn(store(), { ...turn, fence: nextFence() });
      expect((await resent.open(1)).kind).toBe('recorded');
      await resent.end(1, []);
      if (how === 'end') await resent.end(1, [], { status: 'interrupted', usage: USAGE });
      else await new Turn(store(), { names: turn.names }).opened(1);
      expect((await kindsOf(turn)).slice(0, 5)).toEqual([
        'message 1',
        'model 1',
        'responses 1',
        'model 2',
        'responses 2',
      ]);
      expect(await answersOf(turn, 1)).toEqual([{ ok: true }]);
      expect(await answersOf(turn, 2)).toEqual([
        { error: 'this call was cut off by the end of its turn; it may have run' },
      ]);
    }
  });

  test('a finished turn answers with its newest retry that has ended, not with one that runs [session.retry]', async () => {
    const names = newNames();
    const turn = new Turn(store(), { names });
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    await turn.commit(2, 0);
    const again = () => new Turn(store(), { names, messageId: turn.messageId }).open(1);
    expect(await again()).toMatchObject({ kind: 'finished', from: 1, seq: 4 });
    const other = new Turn(store(), { names });
    await other.opened(1);
    await sql`update holdfast.runs set origin = ${turn.invocationId}, generation = 1
      where run_key = ${other.invocationId}`.execute(store().db);
    expect(await again()).toMatchObject({ kind: 'finished', from: 1, seq: 4, agent: 'clerk' });
    await other.commit(1, 0, { agent: 'helper' });
    expect(await again()).toMatchObject({ kind: 'finished', from: 5, seq: 6, agent: 'helper' });
  });

  test('a child that has ended answers with its own outcome, whatever its invocation was retried to', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await commitCalls(turn, 1);
    const { session, invocationId, fence } = turn;
    const child = { session, invocationId, runKey: 'e-child', step: 1, fence };
    const open = () => store().turns.openStep({ ...child, seq: 0 });
    await open();
    await store().turns.settleStep({
      ...child,
      agent: 'helper',
      unsettled: [],
      ending: { outcome: INTERRUPTED },
    });
    for (const index of [0, 1, 2]) await turn.settle(1, index, { ok: true });
    await turn.opened(2);
    await turn.commit(2, 0);
    const prepared = await store().sessions.prepareRetry({ ...turn.names, callKey: turn.callKey(1, 0) });
    const { turn: retried } = await takeUp(store(), turn.names, prepared);
    await retried.settle(1, 0, { ok: true });
    await retried.opened(2);
    await retried.commit(2, 0);
    expect(await open()).toMatchObject({
      kind: 'finished',
      agent: 'helper',
      outcome: { status: 'interrupted' },
    });
  });

  test('responses of a step that stands for another run’s belong to that one, whoever appends them [session.retry]', async () => {
    for (const how of ['open', 'end', 'heal'] as const) {
      const names = newNames();
      const old = new Turn(store(), { names });
      await old.opened(1);
      await old.commit(1, 1);
      await old.end(1, [], { status: 'interrupted', usage: USAGE });
      const turn = new Turn(store(), { names });
      await turn.opened(1);
      await turn.commit(1, 1);
      await sql`update holdfast.ledger set of_run = ${old.invocationId}, of_step = 7
        where session_id = ${turn.session} and key = ${`${turn.invocationId}.1`}`.execute(store().db);
      await turn.settle(1, 0, { ok: true });
      if (how === 'open') await turn.opened(2);
      if (how === 'end') await turn.end(1, [], { status: 'interrupted', usage: USAGE });
      if (how === 'heal') await new Turn(store(), { names }).opened(1);
      expect((await turn.events())[5]).toMatchObject({
        kind: 'responses',
        runKey: old.invocationId,
        step: 7,
        event: {
          invocationId: turn.invocationId,
          content: { parts: [{ functionResponse: { response: { ok: true } } }] },
        },
      });
      if (how === 'open') await turn.end(2, [], { status: 'interrupted', usage: USAGE });
      await new Turn(store(), { names }).opened(1);
      expect((await turn.events()).filter(({ kind }) => kind === 'responses')).toHaveLength(2);
    }
  });
}
