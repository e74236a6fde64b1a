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

describe('a tool that asks while it runs', () => {
  test('runs again behind each answer, whatever that is, under an activity id of its own [confirm.inside]', async () => {
    const turn = await waiting({ ...gated, asks: [{ kind: 'input' }, { kind: 'confirmation' }] });
    await turn.update('confirm', { confirmed: true });
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_input');
    expect((await turn.status()).waiting[0]).toMatchObject({
      requestId: turn.request(0, { n: 2 }),
      kind: 'input',
    });
    expect(await turn.update('provideInput', { response: 'wrong' })).toMatchObject({ status: 'refused' });
    expect(await turn.update('provideInput', { response: { size: 'L' } })).toMatchObject({
      status: 'answered',
    });
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_approval');
    await turn.update('confirm', { confirmed: false, reason: 'no' });
    await turn.result();
    expect(turn.types.filter((type) => !type.startsWith('holdfast.'))).toEqual([
      'refund',
      'refund',
      'refund',
    ]);
    expect(turn.begun.filter(({ type }) => type === 'refund').map(({ activityId }) => activityId)).toEqual([
      turn.callKey(),
      `${turn.callKey()}/2`,
      `${turn.callKey()}/3`,
    ]);
    expect(
      turn.inputs('refund').map(({ answered }) => answered.entries.map(({ kind }: { kind: string }) => kind)),
    ).toEqual([['approved'], ['answered'], ['rejected']]);
    expect(turn.inputs('refund')[1].answered.entries[0]).toMatchObject({ response: { size: 'L' } });
  });

  test('waits for a credential, of which only a reference is told [credential.request]', async () => {
    const turn = environment.turn([[{ tool: 'fetch', asks: [{ kind: 'credential' }] }]]);
    await turn.start();
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_credential');
    const credentialRef = `cr-${'a'.repeat(22)}`;
    for (const secret of [
      { credentialRef, apiKey: 'hunter2' },
      { apiKey: 'hunter2' },
      { credentialRef: 'hunter2' },
      { credentialRef: { apiKey: 'hunter2' } },
    ]) {
      const refused = await turn.refusal('provideCredential', secret);
      expect(refused.type).toBe('RawSecret');
      expect(refused.message).not.toContain('hunter2');
    }
    const history = JSON.stringify(await turn.history());
    expect(history).not.toContain(Buffer.from('hunter2').toString('base64'));
    await turn.update('provideCredential', { credentialRef });
    await turn.result();
    expect(turn.inputs('fetch')[1].answered.entries).toEqual([
      expect.objectContaining({ kind: 'answered', credentialRef }),
    ]);
  });

  test('a raw secret in a signal is ignored, with a warning that names the run [credential.secret]', async () => {
    const turn = environment.turn([[{ tool: 'fetch', asks: [{ kind: 'credential' }] }]]);
    const { firstExecutionRunId } = await turn.start();
    await expect.poll(async () => (await turn.status()).status).toBe('waiting_credential');
    await turn.signal('provideCredential', { apiKey: 'hunter2' });
    await expect.poll(() => turn.details()).toContain(firstExecutionRunId);
    expect(await turn.details()).not.toContain('hunter2');
    await expect.poll(() => turn.types).toContain('holdfast.recordEntries');
    expect(JSON.stringify(turn.begun)).not.toContain('hunter2');
    expect((await turn.status()).status).toBe('waiting_credential');
    await turn.update('provideCredential', { credentialRef: `cr-${'a'.repeat(22)}` });
    await turn.result();
  });
});

describe('an answer that is faster than the plan', () => {
  test('is kept and decides the request once it is there [confirm.signal]', async () => {
    const turn = environment.turn([[gated, gated]]);
    const release = turn.hold('holdfast.callModel');
    await turn.start();
    await expect.poll(() => turn.begun.length).toBe(1);
    expect(await turn.update('confirm', { requestId: turn.request(), confirmed: true })).toEqual({
      v: 1,
      requestId: turn.request(),
      callKey: turn.callKey(),
      status: 'kept',
    });
    await turn.signal('confirm', { requestId: turn.request(), confirmed: false });
    await turn.signal('confirm', { requestId: turn.request(1), confirmed: false });
    await turn.signal('confirm', { requestId: turn.request(7), confirmed: true });
    expect(
      (await turn.refusal('confirm', { requestId: turn.request(0, { step: 0 }), confirmed: true })).type,
    ).toBe('NotPending');
    release();
    await turn.result();
    expect(turn.types.toSorted()).toEqual(
      ['holdfast.closeCall', 'holdfast.recordEntries', 'refund'].toSorted(),
    );
    expect(turn.inputs('refund')).toEqual([expect.objectContaining({ callKey: turn.callKey() })]);
    expect(await turn.details()).toContain(`${turn.request(7)} refused: there is no such request`);
    const timers = (await turn.history()).filter((event) => event.timerStartedEventAttributes);
    expect(timers).toEqual([]);
  });

  test('also where the call asks from inside [confirm.inside]', async () => {
    const turn = environment.turn([[{ tool: 'refund', asks: [{}] }]]);
    const release = turn.hold('refund');
    await turn.start();
    await expect.poll(() => turn.types).toEqual(['refund']);
    expect(await turn.update('confirm', { requestId: turn.request(), confirmed: true })).toMatchObject({
      status: 'kept',
    });
    release();
    await turn.result();
    expect(turn.types).toEqual(['refund', 'refund']);
  });
});
