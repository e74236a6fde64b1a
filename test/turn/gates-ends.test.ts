import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { isDeep } from '../setup/tier.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const gated: ScriptedCall = { tool: 'refund', gate: {} };

async function waiting(...calls: ScriptedCall[]): Promise<GatedTurn> {
  const turn = environment.turn([calls]);
  await turn.start();
  await expect
    .poll(async () => (await turn.status()).waiting.length)
    .toBe(calls.filter(({ gate }) => gate !== undefined).length);
  return turn;
}

const entriesOf = (turn: GatedTurn) =>
  turn.inputs('holdfast.recordEntries').flatMap(({ entries }) => entries);

describe('a waiting call ends early', () => {
  test('where it is cancelled: its request with it, the others wait on [steer.cancelCall]', async () => {
    const turn = await waiting(gated, { ...gated, tool: 'pay' });
    const [requestId, callKey] = [turn.request(), turn.callKey()];
    expect(await turn.update('cancelCall', { callKey, reason: 'no need' })).toMatchObject({
      status: 'cancelling',
    });
    await expect.poll(async () => (await turn.status()).waiting.map(({ tool }) => tool)).toEqual(['pay']);
    await expect
      .poll(() => entriesOf(turn))
      .toEqual([expect.objectContaining({ requestId, kind: 'cancelled', reason: 'cancelled: no need' })]);
    expect(await turn.refusal('confirm', { requestId, confirmed: true })).toEqual({
      type: 'NotPending',
      message: expect.stringContaining('was cancelled'),
    });
    await turn.update('confirm', { confirmed: true });
    await turn.result();
    expect(turn.types.filter((type) => !type.startsWith('holdfast.'))).toEqual(['pay']);
    expect(turn.inputs('holdfast.settleStep')).toEqual([
      expect.objectContaining({
        unsettled: [{ callKey, callId: 'id-1-0', tool: 'refund', error: 'cancelled: no need' }],
      }),
    ]);
  });

  test('where the turn is interrupted: late decisions say so, also in the next one [steer.interrupt]', async () => {
    const turn = await waiting({ ...gated, gate: { expiresIn: 100_000_000, escalateAfter: 90_000_000 } });
    const settle = turn.hold('holdfast.settleStep');
    await turn.update('sendMessage', { messageId: 'm', message: 'stop', policy: 'interrupt' });
    await expect.poll(() => turn.inputs('holdfast.settleStep').length).toBe(1);
    expect(await turn.refusal('confirm', { requestId: turn.request(), confirmed: true })).toEqual({
      type: 'NotPending',
      message: expect.stringContaining('was cancelled'),
    });
    settle();
    expect((await turn.result()).status).toBe('interrupted');
    expect(turn.types).not.toContain('refund');
    expect(turn.types).not.toContain('holdfast.closeCall');
  });

  test('where the workflow is cancelled [turn.cancel]', async () => {
    const turn = await waiting(gated);
    await turn.handle.cancel();
    const failure = await turn.result().catch((error: unknown) => error);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    expect(failure.cause).toBeInstanceOf(CancelledFailure);
    expect(turn.types).toEqual(['holdfast.settleStep']);
    expect(turn.inputs('holdfast.settleStep')[0].ending.status).toBe('interrupted');
  });

  test('where the time of its turn is used up: waiting for people counts [budget.limits]', async () => {
    const turn = environment.turn([[gated]], { timeLeft: 500 });
    await turn.start();
    await turn.result().catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error;
    });
    expect(turn.types).toEqual(['holdfast.settleStep']);
    expect(turn.inputs('holdfast.settleStep')[0].ending.error.code).toBe('HOLDFAST_BUDGET_EXCEEDED');
  });

  test('while its decision is checked: who decides is told, and it never runs [confirm.once]', async () => {
    const turn = await waiting({ ...gated, gate: { attested: true } });
    const release = turn.hold('holdfast.verifyDecision');
    const approved = turn.update('confirm', { confirmed: true, attestation: 'as eve' });
    await expect.poll(() => turn.inputs('holdfast.verifyDecision').length).toBe(1);
    await turn.update('interrupt', {});
    await expect.poll(() => turn.types).toContain('holdfast.settleStep');
    release();
    expect(await approved).toMatchObject({
      status: 'refused',
      reason: 'the request was cancelled meanwhile',
    });
    await turn.result();
    expect(turn.types).not.toContain('refund');
  });
});

describe('a waiting turn', () => {
  test('survives the end of its worker, and takes what was decided meanwhile [confirm.signal]', async () => {
    const turn = await waiting(gated, { ...gated, tool: 'pay' });
    await environment.stopWorker();
    await turn.signal('confirm', { requestId: turn.request(1), confirmed: true });
    await turn.signal('confirm', { requestId: turn.request(1), confirmed: false });
    await environment.startWorker();
    await expect.poll(() => turn.types).toContain('pay');
    await environment.stopWorker();
    await environment.startWorker();
    await turn.update('confirm', { confirmed: false });
    await turn.result();
    expect(turn.types.toSorted()).toEqual(['holdfast.closeCall', 'holdfast.recordEntries', 'pay']);
  });

  if (isDeep) {
    test('needs no memory of a worker: one that was evicted goes on as before [confirm.signal]', async () => {
      await environment.stopWorker();
      await environment.startWorker({ maxCachedWorkflows: 2 });
      const turns: GatedTurn[] = [];
      // One by one: each is asked by queries, which bring it back into the cache and drive another one out.
      for (let n = 0; n < 6; n++)
        turns.push(await waiting({ ...gated, gate: { attested: true, quorum: 2 } }));
      for (const name of ['bob', 'eve']) {
        for (const turn of turns)
          await turn.update('confirm', { confirmed: true, attestation: `as ${name}` });
      }
      for (const turn of turns) {
        await turn.result();
        expect(turn.types.filter((type) => !type.startsWith('holdfast.'))).toEqual(['refund']);
      }
    });
  }
});

describe('calls beside one that waits', () => {
  test('run as many at once as they may, those that are not safe together alone [turn.parallel]', async () => {
    const turn = environment.turn(
      [
        [
          { tool: 'a' },
          gated,
          { tool: 'b' },
          { tool: 'alone', exclusive: true },
          { tool: 'c' },
          { tool: 'd' },
        ],
      ],
      { maxParallelCalls: 1 },
    );
    const release = turn.hold('a');
    await turn.start();
    await expect.poll(() => turn.types).toEqual(['a']);
    await turn.update('confirm', { confirmed: true });
    release();
    await turn.result();
    expect(turn.types).toEqual(['a', 'b', 'alone', 'c', 'd', 'refund']);
  });

  test('leave one alone that was approved and is not safe beside others [turn.parallel]', async () => {
    const turn = environment.turn([[{ tool: 'a' }, { ...gated, exclusive: true }]]);
    const release = turn.hold('a');
    await turn.start();
    await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
    await turn.update('confirm', { confirmed: true });
    expect((await turn.status()).running.map(({ tool }) => tool)).toEqual(['a']);
    release();
    await turn.result();
    expect(turn.inputs('refund')).toEqual([expect.objectContaining({ exclusive: true })]);
  });
});
