import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const recorded = (turn: GatedTurn) =>
  turn
    .inputs('holdfast.recordEntries')
    .flatMap(({ entries }) => entries)
    .map(({ entryId, kind }) => [entryId, kind]);

/** An approved call whose turn to run has not come: another one runs alone. */
async function approved(): Promise<[turn: GatedTurn, release: () => void]> {
  const alone: ScriptedCall = { tool: 'alone', exclusive: true };
  const turn = environment.turn([[alone, { tool: 'refund', gate: {} }]]);
  const release = turn.hold('alone');
  await turn.start();
  await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
  await expect.poll(() => turn.types).toEqual(['alone']);
  expect(await turn.update('confirm', { confirmed: true })).toMatchObject({ status: 'approved' });
  return [turn, release];
}

describe('an approval of a call that never ran is recorded', () => {
  test('where the call was cancelled before its turn had come [approval.audit]', async () => {
    const [turn, release] = await approved();
    await turn.update('cancelCall', { callKey: turn.callKey(1) });
    await expect.poll(() => recorded(turn)).toEqual([[`${turn.request(1)}/1`, 'approved']]);
    release();
    await turn.result();
    expect(turn.types).not.toContain('refund');
  });

  test('where its turn was interrupted [approval.audit]', async () => {
    const [turn, release] = await approved();
    await turn.signal('interrupt', {});
    release();
    expect(await turn.result()).toMatchObject({ status: 'interrupted' });
    expect(turn.types).not.toContain('refund');
    expect(recorded(turn)).toEqual([[`${turn.request(1)}/1`, 'approved']]);
  });
});
