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

describe('a request is found', () => {
  const pair = [
    { ...gated, callId: 'a' },
    { ...gated, callId: 'b' },
  ];

  test.for([
    [0, 1],
    [1, 0],
  ])('by its id, in any order: %i, %i [confirm.many]', async ([first = 0, second = 0]) => {
    const turn = await waiting(...pair);
    expect(await turn.update('confirm', { requestId: turn.request(first), confirmed: true })).toMatchObject({
      status: 'approved',
      callKey: turn.callKey(first),
    });
    await expect.poll(() => turn.types).toEqual(['refund']);
    expect((await turn.status()).waiting.map(({ requestId }) => requestId)).toEqual([turn.request(second)]);
    await turn.update('confirm', { requestId: turn.request(second), confirmed: false });
    await turn.result();
    expect(turn.types).toEqual(['refund', 'holdfast.closeCall']);
    expect(turn.inputs('refund')).toEqual([expect.objectContaining({ callKey: turn.callKey(first) })]);
  });

  test('by its call; without a name only where it is the only one [confirm.signal]', async () => {
    const turn = await waiting(...pair);
    expect(await turn.refusal('confirm', { confirmed: true })).toEqual({
      type: 'AmbiguousRequest',
      message: expect.stringContaining(`${turn.request(0)}, ${turn.request(1)}`),
    });
    expect(await turn.update('confirm', { callKey: turn.callKey(1), confirmed: true })).toMatchObject({
      requestId: turn.request(1),
    });
    expect(await turn.update('confirm', { confirmed: true })).toMatchObject({ requestId: turn.request(0) });
    await turn.result();
  });

  test('by a call id, unless several have it: then it is refused with their ids [confirm.signal]', async () => {
    const turn = await waiting({ ...gated, callId: 'same' }, { ...gated, callId: 'same' });
    expect(await turn.refusal('confirm', { callId: 'same', confirmed: true })).toEqual({
      type: 'AmbiguousRequest',
      message: expect.stringContaining(`${turn.request(0)}, ${turn.request(1)}`),
    });
    await turn.signal('confirm', { callId: 'same', confirmed: true });
    await expect.poll(() => turn.details()).toContain('several requests are pending');
    await turn.update('confirm', { requestId: turn.request(1), confirmed: true });
    expect(await turn.update('confirm', { callId: 'same', confirmed: true })).toMatchObject({
      requestId: turn.request(0),
      status: 'approved',
    });
    await turn.result();
  });

  test('or not: an unknown one, one of another turn, a call that asks nothing [confirm.signal]', async () => {
    const turn = await waiting(gated);
    const other = `rq-${'e-'.padEnd(24, 'x')}.1.0.1`;
    for (const name of [{ requestId: other }, { callKey: 'no.1.0' }, { callId: 'none' }]) {
      expect((await turn.refusal('confirm', { ...name, confirmed: true })).type).toBe('NotPending');
      await turn.signal('confirm', { ...name, confirmed: true });
    }
    await expect.poll(async () => (await turn.details()).match(/no such request/g)?.length).toBe(3);
    expect(turn.types).toEqual([]);
    await turn.update('confirm', { confirmed: true });
    await turn.result();
  });
});

describe('an answered request', () => {
  test('takes the same answer again, refuses the opposite, and says how it was answered [confirm.once]', async () => {
    const turn = await waiting(gated, gated);
    const [requestId, other] = [turn.request(0), turn.request(1)];
    await turn.signal('confirm', { requestId, confirmed: true });
    expect(await turn.update('confirm', { requestId, confirmed: true })).toMatchObject({
      status: 'duplicate',
    });
    expect(await turn.update('confirm', { callKey: turn.callKey(), confirmed: true })).toMatchObject({
      status: 'duplicate',
    });
    expect(await turn.refusal('confirm', { requestId, confirmed: false })).toEqual({
      type: 'AlreadyAnswered',
      message: expect.stringContaining('approved before'),
    });
    await turn.signal('confirm', { requestId, confirmed: false });
    await expect
      .poll(() => turn.inputs('holdfast.recordEntries').flatMap(({ entries }) => entries))
      .toEqual([
        expect.objectContaining({
          entryId: `${requestId}/2`,
          requestId,
          kind: 'refused',
          reason: expect.stringContaining('approved before'),
        }),
      ]);
    await turn.update('confirm', { requestId: other, confirmed: false });
    expect((await turn.refusal('confirm', { requestId: other, confirmed: true })).type).toBe(
      'AlreadyAnswered',
    );
    await turn.result();
    expect(turn.types.filter((type) => type === 'refund')).toEqual(['refund']);
  });

  test('of a turn that has ended is told apart by the next one of its chain only [confirm.once]', async () => {
    const turn = environment.turn([[gated], [gated]]);
    await turn.start();
    await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
    await turn.update('confirm', { confirmed: true });
    await expect
      .poll(async () => (await turn.status()).waiting[0]?.requestId)
      .toBe(turn.request(0, { step: 2 }));
    expect(await turn.update('confirm', { requestId: turn.request(), confirmed: true })).toMatchObject({
      status: 'duplicate',
    });
    expect((await turn.status()).waiting).toHaveLength(1);
    await turn.update('confirm', { confirmed: true });
    await turn.result();
  });
});

describe('a malformed decision changes nothing and says why', () => {
  test.for([
    ['nothing said', {}, 'confirmed: expected true, which approves, or false, which rejects, got nothing'],
    [
      'a word',
      { confirmed: 'yes' },
      'confirmed: expected true, which approves, or false, which rejects, got string',
    ],
    [
      'null',
      { confirmed: null },
      'confirmed: expected true, which approves, or false, which rejects, got null',
    ],
    ['a list of arguments', { confirmed: true, args: [] }, 'args: expected an object'],
    ['arguments that may not change', { confirmed: true, args: { to: 1 } }, 'takes no changed arguments'],
    [
      'changed arguments with a rejection',
      { confirmed: false, args: { to: 1 } },
      'args: a rejection changes no arguments',
    ],
    ['a number as the reason', { confirmed: true, reason: 7 }, 'reason: expected text'],
    ['a long reason', { confirmed: true, reason: 'x'.repeat(2001) }, 'reason: 2001 characters, at most 2000'],
    [
      'a long attestation',
      { confirmed: true, attestation: 'x'.repeat(9000) },
      'attestation: 9000 characters',
    ],
    ['a large payload', { confirmed: true, payload: 'x'.repeat(33_000) }, 'bytes of JSON, at most 32768'],
    ['a later version', { confirmed: true, v: 99 }, 'deploy a newer worker'],
    ['a number as the id', { confirmed: true, requestId: 7 }, 'requestId: expected a non-empty string'],
  ] as const)('%s [confirm.signal]', async ([_name, payload, problem]) => {
    const turn = await waiting(gated);
    expect(await turn.refusal('confirm', payload)).toEqual({
      type: 'InvalidDecision',
      message: expect.stringContaining(problem),
    });
    await turn.signal('confirm', payload);
    await expect.poll(() => turn.details()).toContain(problem.slice(0, 20));
    await expect
      .poll(() => turn.inputs('holdfast.recordEntries').flatMap(({ entries }) => entries))
      .toEqual([expect.objectContaining({ kind: 'refused', reason: expect.stringContaining(problem) })]);
    expect((await turn.status()).waiting).toHaveLength(1);
    await turn.update('confirm', { confirmed: false });
    await turn.result();
    expect(turn.types).not.toContain('refund');
  });

  test('as is one for another kind of request [confirm.signal]', async () => {
    const turn = await waiting(gated);
    expect(await turn.refusal('provideInput', { response: 1 })).toEqual({
      type: 'InvalidDecision',
      message: expect.stringContaining('asks for a confirmation: send confirm'),
    });
    await turn.update('confirm', { confirmed: false });
    await turn.result();
  });

  test('null counts as absent, as other languages write it [confirm.signal]', async () => {
    const turn = await waiting(gated);
    const payload = { requestId: null, callKey: null, args: null, payload: null, withdraw: null, v: null };
    expect(await turn.update('confirm', { ...payload, confirmed: true })).toMatchObject({
      status: 'approved',
    });
    await turn.result();
  });
});

describe('a decision that is checked', () => {
  const four = { ...gated, gate: { attested: true, quorum: 2 } } as const;

  test('runs the call with the arguments that were approved [approval.edit]', async () => {
    const turn = await waiting({ ...gated, gate: { allowEdit: true } });
    expect(await turn.update('confirm', { confirmed: true, args: { bad: 1 } })).toMatchObject({
      status: 'refused',
      reason: 'args.bad: not allowed',
    });
    expect((await turn.status()).status).toBe('waiting_approval');
    await turn.signal('confirm', { confirmed: true, args: { to: 5 }, payload: { why: 'less' } });
    await turn.result();
    expect(turn.inputs('refund')).toEqual([
      expect.objectContaining({
        args: { value: { to: 5 } },
        answered: {
          requestId: turn.request(),
          entries: [expect.objectContaining({ kind: 'approved', args: { to: 5 }, payload: { why: 'less' } })],
        },
      }),
    ]);
  });

  test('counts different people, each once [approval.quorum]', async () => {
    const turn = await waiting(four);
    const vote = (name: string, confirmed = true) =>
      turn.update('confirm', { confirmed, attestation: `as ${name}` });
    expect(await vote('bob')).toMatchObject({ status: 'counted', approvals: 1, quorum: 2 });
    expect(await vote('bob')).toMatchObject({ status: 'duplicate', approvals: 1 });
    expect(await turn.update('confirm', { confirmed: true, attestation: 'as bob again' })).toMatchObject({
      status: 'duplicate',
    });
    expect(await vote('bob', false)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('withdraw'),
    });
    expect(await vote('nobody')).toMatchObject({ status: 'refused', reason: 'nobody may not decide' });
    expect((await turn.status()).waiting[0]?.votes).toEqual({ approvals: 1, quorum: 2 });
    expect(await turn.details()).toContain('1 of 2 have approved');
    expect(await vote('eve')).toMatchObject({ status: 'approved', approvals: 2, quorum: 2 });
    await turn.result();
    expect(turn.inputs('refund')).toHaveLength(1);
    const scheduled = (await turn.history()).find(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'refund',
    );
    expect(Buffer.from(scheduled?.userMetadata?.summary?.data ?? '').toString()).toContain(
      'approved by bob, eve',
    );
  });

  test('counts no vote that was withdrawn [approval.quorum]', async () => {
    const turn = await waiting(four);
    const vote = (name: string, more: object = {}) =>
      turn.update('confirm', { confirmed: true, attestation: `as ${name}`, ...more });
    expect(await vote('bob')).toMatchObject({ status: 'counted' });
    expect(await vote('eve', { withdraw: true })).toMatchObject({ status: 'refused' });
    expect(await vote('bob', { withdraw: true })).toMatchObject({ status: 'withdrawn', approvals: 0 });
    expect(await vote('eve')).toMatchObject({ status: 'counted', approvals: 1 });
    expect(await vote('bob', { confirmed: false })).toMatchObject({ status: 'rejected' });
    expect(
      (await turn.refusal('confirm', { confirmed: true, withdraw: true, requestId: turn.request() })).type,
    ).toBe('AlreadyAnswered');
    await turn.result();
    expect(turn.types).not.toContain('refund');
  });

  test('adds up only with approvals of the same arguments and payload [approval.quorum]', async () => {
    const turn = await waiting({ ...gated, gate: { quorum: 2, allowEdit: true } });
    const vote = (name: string, more: object = {}) =>
      turn.update('confirm', { confirmed: true, attestation: `as ${name}`, ...more });
    await vote('bob', { args: { to: 1 } });
    expect(await vote('eve', { args: { to: 2 } })).toMatchObject({ status: 'counted', approvals: 1 });
    expect(await vote('joe')).toMatchObject({ status: 'counted', approvals: 1 });
    expect(await vote('ann', { args: { to: 2 } })).toMatchObject({ status: 'approved', approvals: 2 });
    await turn.result();
    expect(turn.inputs('refund')).toEqual([expect.objectContaining({ args: { value: { to: 2 } } })]);
  });

  test('is rejected by a single one that counts [approval.quorum]', async () => {
    const turn = await waiting({ ...gated, gate: { attested: true, quorum: 3 } });
    await turn.update('confirm', { confirmed: true, attestation: 'as bob' });
    await turn.signal('confirm', { confirmed: false, attestation: 'as nobody' });
    await turn.signal('confirm', { confirmed: false, attestation: 'as eve', reason: 'no' });
    await turn.result();
    expect(turn.inputs('holdfast.closeCall')).toEqual([
      expect.objectContaining({ why: 'rejected', reason: 'no' }),
    ]);
  });

  test('by signal and then by update is checked once, and the update says what became of it [confirm.signal]', async () => {
    const turn = await waiting(four);
    const release = turn.hold('holdfast.verifyDecision');
    const payload = { confirmed: true, attestation: 'as bob' };
    await turn.signal('confirm', payload);
    const receipt = turn.update('confirm', payload);
    await expect.poll(() => turn.inputs('holdfast.verifyDecision').length).toBe(1);
    release();
    expect(['counted', 'duplicate']).toContain((await receipt).status);
    expect(turn.inputs('holdfast.verifyDecision')).toHaveLength(1);
    await turn.update('confirm', { confirmed: false, attestation: 'as eve' });
    await turn.result();
  });

  test('is looked at in its turn: what came first decides [confirm.once]', async () => {
    const turn = await waiting({ ...gated, gate: { allowEdit: true } });
    const release = turn.hold('holdfast.verifyDecision');
    const edited = turn.update('confirm', { confirmed: true, args: { to: 5 } });
    await expect.poll(() => turn.inputs('holdfast.verifyDecision').length).toBe(1);
    const rejected = await turn.lateRefusal('confirm', { confirmed: false });
    release();
    expect(await edited).toMatchObject({ status: 'approved' });
    expect((await rejected.refused).type).toBe('AlreadyAnswered');
    await turn.result();
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
  expect(details).toContain(`npx holdfast approvals approve ${turn.request()}`);
  const label = async () => (await turn.handle.describe()).searchAttributes.HoldfastStatus?.[0];
  await expect.poll(label).toBe('waiting_approval');
  await turn.signal('confirm', { confirmed: true });
  await turn.result();
  await expect.poll(label).toBe('running');
});
