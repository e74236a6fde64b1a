import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const gated: ScriptedCall = { tool: 'refund', gate: {} };

/** A turn of one step, once all of it waits that asks before it runs. */
async function waiting(...calls: ScriptedCall[]): Promise<GatedTurn> {
  const turn = environment.turn([calls]);
  await turn.start();
  await expect
    .poll(async () => (await turn.status()).waiting.length)
    .toBe(calls.filter(({ gate }) => gate !== undefined).length);
  return turn;
}

describe('a plain decision', () => {
  test.for(['signal', 'update'] as const)('by %s runs the call once [confirm.signal]', async (way) => {
    const turn = await waiting(gated);
    expect(turn.types).toEqual([]);
    await turn[way]('confirm', { requestId: turn.request(), confirmed: true });
    expect((await turn.result()).status).toBe('completed');
    expect(turn.types).toEqual(['refund']);
    expect(turn.inputs('refund')).toEqual([
      expect.objectContaining({
        prepared: true,
        answered: {
          requestId: turn.request(),
          entries: [
            expect.objectContaining({
              entryId: `${turn.request()}/1`,
              kind: 'approved',
              by: { principal: 'unverified', verified: false },
            }),
          ],
        },
      }),
    ]);
  });

  test('that rejects closes the call, which never runs, and the next step is told [confirm.rejected]', async () => {
    const turn = await waiting(gated);
    const receipt = await turn.update('confirm', { confirmed: false, reason: 'too much' });
    expect(receipt).toEqual({
      v: 1,
      requestId: turn.request(),
      callKey: turn.callKey(),
      status: 'rejected',
    });
    await turn.result();
    expect(turn.types).toEqual(['holdfast.closeCall']);
    expect(turn.inputs('holdfast.closeCall')).toEqual([
      expect.objectContaining({
        tool: 'refund',
        why: 'rejected',
        reason: 'too much',
        callKey: turn.callKey(),
      }),
    ]);
    expect(turn.begun.at(-1)?.input).toMatchObject({ step: 2 });
  });

  test('is waited for by its own call alone: siblings run at once [confirm.siblings]', async () => {
    const turn = await waiting(gated, { tool: 'look' }, { tool: 'alone', exclusive: true }, { tool: 'look' });
    await expect.poll(() => turn.types.toSorted()).toEqual(['alone', 'look', 'look']);
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_approval');
    await turn.signal('confirm', { confirmed: true });
    await turn.result();
    expect(turn.types.at(-1)).toBe('refund');
  });
});

test('what a turn waits for is in its status, details and label [confirm.signal]', async () => {
  const turn = await waiting({ ...gated, summary: 'order 7', gate: { hint: 'Refund *7*?' } });
  expect(await turn.status()).toMatchObject({
    status: 'waiting_approval',
    step: 1,
    waiting: [
      {
        requestId: turn.request(),
        kind: 'confirmation',
        callKey: turn.callKey(),
        callId: 'id-1-0',
        tool: 'refund',
        path: ['fake'],
        hint: 'Refund *7*?',
        since: expect.any(Number),
        votes: { approvals: 0, quorum: 1 },
      },
    ],
  });
  const details = await turn.details();
  expect(details).toContain('Refund \\*7\\*?');
  expect(details).toContain('order 7');
  expect(details).toContain(`holdfast approvals approve ${turn.request()}`);
  const label = async () => (await turn.handle.describe()).searchAttributes.HoldfastStatus?.[0];
  await expect.poll(label).toBe('waiting_approval');
  await turn.signal('confirm', { confirmed: true });
  await turn.result();
  await expect.poll(label).toBe('running');
});
