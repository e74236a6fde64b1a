import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Gate } from '../../src/protocol/gate.ts';
import { type GatedTurn, GateEnvironment } from '../setup/gate-environment.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

async function started(gate: Partial<Gate>): Promise<GatedTurn> {
  const turn = environment.turn([[{ tool: 'refund', gate }]]);
  await turn.start();
  return turn;
}

async function waiting(gate: Partial<Gate>): Promise<GatedTurn> {
  const turn = await started(gate);
  await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
  return turn;
}

const SHORT = 300;
const LONG = 100_000_000;

const entriesOf = (turn: GatedTurn, type: string) =>
  turn.inputs(type).flatMap(({ entries, answered }) => entries ?? answered.entries);

/** Each event by its type, with its label. */
async function labelled(turn: GatedTurn): Promise<string[]> {
  return (await turn.history()).map((event) => {
    const [type = ''] = Object.keys(event).filter((key) => key.endsWith('EventAttributes'));
    const label = Buffer.from(event.userMetadata?.summary?.data ?? '').toString();
    return `${type.replace('EventAttributes', '')}${label === '' ? '' : ` ${label}`}`;
  });
}

describe('a wait', () => {
  test('without an end has a bar in the timeline, which costs it two events [turn.bar]', async () => {
    const turn = environment.turn([
      [{ tool: 'refund', gate: {}, summary: 'id: FH-12511' }],
      [{ tool: 'hold', gate: { kind: 'input' } }],
    ]);
    await turn.start();
    await expect.poll(async () => (await turn.status()).waiting[0]?.tool).toBe('refund');
    await turn.signal('confirm', { confirmed: true });
    await expect.poll(async () => (await turn.status()).waiting[0]?.tool).toBe('hold');
    await turn.update('provideInput', { response: 'yes' });
    await turn.result();
    const events = await labelled(turn);
    expect(events.filter((event) => /^timer|^marker/.test(event))).toEqual([
      'timerStarted "waits for approval of refund · id: FH-12511"',
      'timerCanceled "waits for approval of refund · id: FH-12511"',
      'timerStarted "waits for an answer of hold"',
      'timerCanceled "waits for an answer of hold"',
    ]);
  });

  test('that is decided before it begins, and a turn that waits for nobody, have none [turn.bar]', async () => {
    const turn = environment.turn([[{ tool: 'hold' }], [{ tool: 'refund', gate: { ended: 'approved' } }]]);
    await turn.start();
    await turn.result();
    expect((await labelled(turn)).filter((event) => /^timer|^marker/.test(event))).toEqual([]);
  });

  test('that is cancelled with its turn ends its bar [turn.bar]', async () => {
    const turn = await waiting({});
    await turn.handle.cancel();
    await turn.handle.result().catch(() => undefined);
    const events = await labelled(turn);
    expect(events.filter((event) => event.startsWith('timerStarted'))).toHaveLength(1);
    expect(events.filter((event) => event.startsWith('timerCanceled'))).toHaveLength(1);
  });
});

describe('a request that nobody answers in time', () => {
  test('is rejected by default, and later answers are refused [approval.expiry]', async () => {
    const turn = environment.turn([
      [
        { tool: 'refund', gate: { expiresIn: SHORT } },
        { tool: 'hold', gate: {} },
      ],
    ]);
    await turn.start();
    await expect.poll(() => turn.types).toEqual(['holdfast.closeCall']);
    expect(turn.inputs('holdfast.closeCall')).toEqual([
      expect.objectContaining({
        why: 'expired',
        reason: 'nobody answered in time',
        answered: { requestId: turn.request(), entries: [expect.objectContaining({ kind: 'expired' })] },
      }),
    ]);
    expect((await turn.refusal('confirm', { requestId: turn.request(), confirmed: true })).type).toBe(
      'RequestExpired',
    );
    await turn.signal('confirm', { requestId: turn.request(), confirmed: true });
    await expect.poll(() => turn.details()).toContain('has expired');
    await turn.update('confirm', { confirmed: true });
    await turn.result();
    expect(turn.types.filter((type) => !type.startsWith('holdfast.'))).toEqual(['hold']);
  });

  test('is approved by policy; who approves then says nothing new, who rejects is late [approval.expiry]', async () => {
    const turn = environment.turn([
      [
        { tool: 'refund', gate: { expiresIn: SHORT, onExpiry: 'approve' } },
        { tool: 'hold', gate: {} },
      ],
    ]);
    await turn.start();
    await expect.poll(() => turn.types).toEqual(['refund']);
    const [entry] = entriesOf(turn, 'refund');
    expect(entry).toMatchObject({ kind: 'approved', reason: 'nobody answered in time' });
    expect(entry.by).toBeUndefined();
    const requestId = turn.request();
    expect(await turn.update('confirm', { requestId, confirmed: true })).toMatchObject({
      status: 'duplicate',
    });
    expect((await turn.refusal('confirm', { requestId, confirmed: false })).type).toBe('AlreadyAnswered');
    await turn.update('confirm', { confirmed: false });
    await turn.result();
  });

  test('is asked of others for as long again, and then rejected [approval.expiry]', async () => {
    const turn = await started({ expiresIn: SHORT, onExpiry: 'escalate', notifies: true });
    await turn.result();
    expect(turn.types.filter((type) => type === 'holdfast.closeCall')).toHaveLength(1);
    expect(entriesOf(turn, 'holdfast.recordEntries')).toEqual([
      expect.objectContaining({ entryId: `${turn.request()}/1`, kind: 'escalated' }),
    ]);
    expect(entriesOf(turn, 'holdfast.closeCall')).toEqual([
      expect.objectContaining({ entryId: `${turn.request()}/2`, kind: 'expired' }),
    ]);
    expect(turn.inputs('holdfast.notify')).toEqual([
      {
        v: 1,
        session: turn.names.sessionId,
        ...turn.names,
        workflowId: turn.workflowId,
        why: 'opened',
        requestIds: [turn.request()],
      },
      expect.objectContaining({ why: 'escalated', requestIds: [turn.request()] }),
    ]);
    const timers = (await turn.history()).flatMap(({ timerStartedEventAttributes, userMetadata }) =>
      timerStartedEventAttributes ? [Buffer.from(userMetadata?.summary?.data ?? '').toString()] : [],
    );
    const bar = `"waits for approval of refund · expiry of ${turn.request()}"`;
    expect(timers).toEqual([bar, bar]);
  });

  test('is asked of others before its time is over, who then have as much again [approval.expiry]', async () => {
    const turn = await started({ expiresIn: 2 * SHORT, escalateAfter: SHORT, onExpiry: 'escalate' });
    await turn.result();
    const entries = entriesOf(turn, 'holdfast.recordEntries');
    // By the second one the store knows until when.
    expect(entries.map(({ entryId, kind }) => [entryId, kind])).toEqual([
      [`${turn.request()}/1`, 'escalated'],
      [`${turn.request()}/2`, 'escalated'],
    ]);
    expect(entriesOf(turn, 'holdfast.closeCall')).toEqual([
      expect.objectContaining({ entryId: `${turn.request()}/3`, kind: 'expired' }),
    ]);
  });

  test('may be decided by others after a while, and by all as before [approval.expiry]', async () => {
    const turn = await waiting({ attested: true, escalateAfter: SHORT, expiresIn: LONG });
    const before = (await turn.status()).waiting[0]?.until;
    await expect.poll(() => entriesOf(turn, 'holdfast.recordEntries').length).toBe(1);
    expect((await turn.status()).waiting[0]?.until).toBe(before);
    await turn.update('confirm', { confirmed: true, attestation: 'as eve' });
    await turn.result();
    expect(turn.inputs('holdfast.verifyDecision')).toEqual([expect.objectContaining({ escalated: true })]);
    expect(entriesOf(turn, 'refund')).toEqual([expect.objectContaining({ kind: 'approved' })]);
  });

  test('from inside is answered to the tool, which decides [approval.expiry]', async () => {
    const turn = environment.turn([[{ tool: 'refund', asks: [{ expiresIn: SHORT }] }]]);
    await turn.start();
    await turn.result();
    expect(turn.types).toEqual(['refund', 'refund']);
    expect(turn.inputs('refund')[1].answered.entries).toEqual([
      expect.objectContaining({ kind: 'expired', reason: 'nobody answered in time' }),
    ]);
  });

  test('has been in time where its decision is still being checked [approval.expiry]', async () => {
    const turn = environment.turn([[{ tool: 'refund', gate: { attested: true, expiresIn: SHORT } }]]);
    const release = turn.hold('holdfast.verifyDecision');
    const plan = turn.hold('holdfast.callModel');
    await turn.start();
    await expect.poll(() => turn.begun.length).toBe(1);
    // Before the request is there: whatever the machine does meanwhile, it is in time.
    const approval = { requestId: turn.request(), confirmed: true, attestation: 'as eve' };
    expect(await turn.update('confirm', approval)).toMatchObject({ status: 'kept' });
    plan();
    const fired = async () =>
      (await turn.history()).some(({ timerFiredEventAttributes }) => timerFiredEventAttributes);
    await expect.poll(fired).toBe(true);
    expect((await turn.refusal('confirm', { confirmed: false, attestation: 'as bob' })).type).toBe(
      'RequestExpired',
    );
    release();
    await turn.result();
    expect(turn.types).toContain('refund');
    expect(turn.types).not.toContain('holdfast.closeCall');
  });

  test.for([0, -5, 1])('after %i ms is rejected at once [approval.expiry]', async (expiresIn) => {
    const turn = environment.turn([[{ tool: 'refund', gate: { expiresIn } }]]);
    await turn.start();
    await turn.result();
    expect(turn.types).toEqual(['holdfast.closeCall']);
  });

  test('for ten years, or longer than any calendar, waits [approval.expiry]', async () => {
    for (const expiresIn of [315_360_000_000, 9e15]) {
      const turn = await waiting({ expiresIn });
      expect(await turn.details()).toContain('refund');
      await turn.update('confirm', { confirmed: true });
      await turn.result();
    }
  });
});

describe('people are told of a request', () => {
  test('beside it: a turn goes on where nobody could be told, and those that open together are told of together [approval.notify]', async () => {
    const gate = { notifies: true } as const;
    const turn = environment.turn([
      [
        { tool: 'refund', gate },
        { tool: 'refund', gate },
      ],
    ]);
    const release = turn.hold('holdfast.notify');
    await turn.start();
    await expect.poll(() => turn.inputs('holdfast.notify').length).toBe(1);
    expect(turn.inputs('holdfast.notify')[0].requestIds).toEqual([turn.request(0), turn.request(1)]);
    const cancelled = async () =>
      (await turn.history()).some((event) => event.activityTaskCancelRequestedEventAttributes);
    await turn.update('confirm', { requestId: turn.request(0), confirmed: true });
    expect(await cancelled()).toBe(false);
    await turn.update('confirm', { confirmed: true });
    await turn.result();
    expect(await cancelled()).toBe(true);
    release();
  });
});
