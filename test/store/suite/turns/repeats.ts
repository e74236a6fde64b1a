import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { toKeep } from '../messages/inbox.ts';
import { losingAnswers } from '../statements.ts';
import { newNames, Turn, total, USAGE } from './turn.ts';

/** What the server did and could not say is sent again: it must not count twice. */
export function repeatSuite(store: () => PostgresStore): void {
  test('a turn of which every answer is lost once is like any other [store.reconnect]', async () => {
    const turn = new Turn(store());
    expect(await losingAnswers(() => turn.opened(1))).toMatchObject({ attempt: 1, lost: 0, seq: 1, from: 1 });
    const step = { session: turn.session, runKey: turn.invocationId, step: 1, error: 'overloaded' };
    expect(await losingAnswers(() => store().turns.recordStepFailure({ ...step, attempt: 1 }))).toBe(1);
    expect(await losingAnswers(() => turn.opened(1))).toMatchObject({ attempt: 2, lost: 0, failures: 1 });
    const committed = await losingAnswers(() => turn.commit(1, 1));
    expect(committed).toMatchObject({ seq: 2, from: 1, outcome: { usage: USAGE } });
    expect(committed.outcome).not.toHaveProperty('usage.unknownCalls');
    expect(await turn.events()).toHaveLength(2);
  });

  test('calls whose answers are lost have begun, failed and settled once [store.reconnect]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 3);
    expect(await losingAnswers(() => turn.begin(1, 0))).toMatchObject({ attempt: 1, unknown: false });
    const call = { session: turn.session, callKey: turn.callKey(1, 0), error: 'no', attempt: 1 };
    expect(await losingAnswers(() => store().turns.recordCallFailure(call))).toBe(1);
    expect(await losingAnswers(() => turn.begin(1, 0))).toMatchObject({
      attempt: 2,
      failures: 1,
      unknown: false,
    });
    expect(await losingAnswers(() => turn.settle(1, 0, { n: 0 }))).toMatchObject({ first: true });
    const both = () => Promise.all([turn.begin(1, 1), turn.begin(1, 2)]);
    expect(await losingAnswers(both)).toMatchObject([
      { attempt: 1, unknown: false },
      { attempt: 1, unknown: false },
    ]);
    const settled = await losingAnswers(() =>
      Promise.all([turn.settle(1, 1, { n: 1 }), turn.settle(1, 2, { n: 2 })]),
    );
    expect(settled).toMatchObject([{ first: true }, { first: true }]);
    const { events, attempt } = await losingAnswers(() => turn.opened(2, { knownSeq: 2 }));
    expect(attempt).toBe(1);
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([[3, 'responses']]);
    expect((await losingAnswers(() => turn.commit(2, 0))).outcome).toMatchObject({
      outcome: { usage: total(2) },
    });
    expect(await turn.events()).toHaveLength(4);
  });

  test('messages whose receipts are lost are kept once, and an end is one [store.reconnect]', async () => {
    const names = newNames();
    const messages = [toKeep(names, 'm1'), toKeep(names, 'm2', { rejected: 'full' })];
    const kept = await losingAnswers(() => store().messages.keep({ ...names, startedAt: 1, messages }));
    expect(kept.map(({ kind }) => kind)).toEqual(['kept', 'kept']);
    await losingAnswers(() => store().messages.upload({ ...names, messageId: 'm3', message: 'x' }));
    expect(await store().messages.readInbox(names)).toHaveLength(3);
    await losingAnswers(() => store().messages.forgetUpload(names, 'm3'));
    expect(await store().messages.readInbox(names)).toHaveLength(2);
    const turn = new Turn(store(), { names, messageId: 'm1' });
    expect(await losingAnswers(() => turn.opened(1, { fromInbox: true }))).toMatchObject({
      attempt: 1,
      seq: 1,
    });
    const ended = await losingAnswers(() => turn.end(1, [], { status: 'interrupted', usage: USAGE }));
    expect(ended.outcome).toMatchObject({ usage: { modelCalls: 1, unknownCalls: 1 } });
    expect(await turn.events()).toHaveLength(1);
  });

  test('an error of the database that nothing explains has a code, and its SQLSTATE [store.unavailable]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const once = () => store().turns.recordOnce({ ...turn, callKey: turn.callKey(1, 0), key: 'k', value: 1 });
    await sql`alter function holdfast.record_once rename to elsewhere`.execute(store().db);
    await expect(once()).rejects.toMatchObject({
      code: 'HOLDFAST_STORE_FAILED',
      retryable: true,
      message: expect.stringMatching(/record_once.*42883/s),
    });
    await sql`alter function holdfast.elsewhere rename to record_once`.execute(store().db);
    expect(await once()).toBe(1);
  });
}
