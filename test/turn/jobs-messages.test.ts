import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageReceipt } from '../../src/protocol/message.ts';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const report: ScriptedCall = { tool: 'report', job: {} };

async function parked(...calls: ScriptedCall[]): Promise<GatedTurn> {
  const turn = environment.turn([calls]);
  await turn.start();
  await turn.parked(calls.filter(({ job }) => job !== undefined).length);
  return turn;
}

const row = (turn: GatedTurn, index = 0) => environment.jobs.row(turn.jobId(index));

const response = (id: string, said: object, fields: object = {}) => ({
  functionResponse: { id, name: 'report', response: said, ...fields },
});

const message = (messageId: string, ...parts: object[]) => ({ messageId, message: { role: 'user', parts } });

const send = (turn: GatedTurn, given: object) => turn.update<MessageReceipt>('sendMessage', given);

describe('a message with the response of a parked call', () => {
  test('ends its job, and starts no turn; sent again it is known [job.message]', async () => {
    const turn = await parked(report, { tool: 'scan', job: {} });
    const given = message('m', response('id-1-0', { url: 'u' }));
    const receipt = await send(turn, given);
    const jobs = [{ v: 1, jobId: turn.jobId(), callKey: turn.callKey(), status: 'ended', job: 'completed' }];
    expect(receipt).toEqual({ v: 1, messageId: 'm', invocationId: turn.runKey, status: 'running', jobs });
    await turn.parked(1);
    expect((await send(turn, given)).jobs).toMatchObject([{ status: 'duplicate', job: 'completed' }]);
    const other = await send(turn, message('n', response('id-1-0', { url: 'other' })));
    expect(other.jobs).toMatchObject([{ status: 'known', job: 'completed' }]);
    await send(turn, message('o', response('id-1-1', { scanned: true })));
    const result = await turn.result();
    expect(result.others).toBeUndefined();
    expect(turn.types).not.toContain('holdfast.keepMessages');
    expect(row(turn).settled).toEqual([{ url: 'u' }]);
    expect(row(turn, 1).settled).toEqual([{ scanned: true }]);
  });

  test('by signal, by the id that we gave its call [job.message]', async () => {
    const turn = await parked(report);
    await turn.signal('sendMessage', message('m', response(`adk-${turn.callKey()}`, { n: 1 })));
    await turn.result();
    expect(row(turn).settled).toEqual([{ n: 1 }]);
  });

  test('with willContinue is an update, of which the last one stays [job.updates]', async () => {
    const turn = await parked(report);
    for (const n of [1, 2, 3]) {
      const receipt = await send(turn, message(`m${n}`, response('id-1-0', { n }, { willContinue: true })));
      expect(receipt.jobs).toMatchObject([{ status: 'updated', job: 'running' }]);
    }
    expect(row(turn).update).toEqual({ n: 3 });
    expect((await turn.status()).status).toBe('waiting_job');
    await send(turn, message('m', response('id-1-0', { done: true })));
    await turn.result();
    expect(row(turn).settled).toEqual([{ done: true }]);
    expect(turn.inputs('report').filter((input) => input.job === undefined)).toHaveLength(1);
  });

  test('and text: the job ends, and the text is a message of its own [job.message]', async () => {
    const turn = await parked(report);
    const receipt = await send(turn, message('m', { text: 'and now?' }, response('id-1-0', { n: 1 })));
    expect(receipt.jobs).toMatchObject([{ status: 'ended' }]);
    expect(receipt.invocationId).not.toBe(turn.runKey);
    const result = await turn.result();
    expect(result.others).toMatchObject([{ invocationId: receipt.invocationId, status: 'completed' }]);
    expect(turn.inputs('holdfast.keepMessages')[0].messages[0].message.parts).toEqual([{ text: 'and now?' }]);
  });

  test('and one to a request beside it: each has its receipt [job.message]', async () => {
    const turn = environment.turn([[report, { tool: 'pay', gate: {} }]]);
    await turn.start();
    await turn.parked();
    const confirmation = {
      functionResponse: {
        id: turn.request(1),
        name: 'adk_request_confirmation',
        response: { confirmed: true },
      },
    };
    const receipt = await send(turn, message('m', confirmation, response('id-1-0', { n: 1 })));
    expect(receipt).toMatchObject({ replies: [{ status: 'approved' }], jobs: [{ status: 'ended' }] });
    await turn.result();
    expect(turn.types).toContain('pay');
  });

  test('whose wire id two calls have is refused with both names; by our own id it is taken [job.message]', async () => {
    const twin = { ...report, callId: 'same' };
    const turn = await parked(twin, twin);
    const [refused] = (await send(turn, message('m', response('same', { n: 0 })))).jobs ?? [];
    expect(refused?.status).toBe('refused');
    expect(refused?.reason).toContain(turn.callKey(0));
    expect(refused?.reason).toContain(turn.callKey(1));
    await turn.signal('sendMessage', message('m2', response('same', { n: 0 })));
    await expect.poll(() => turn.details()).toContain('response to same refused: several calls');
    for (const n of [0, 1]) {
      await send(turn, message(`n${n}`, response(`adk-${turn.callKey(n)}`, { n })));
    }
    await turn.result();
    expect(row(turn, 0).settled).toEqual([{ n: 0 }]);
    expect(row(turn, 1).settled).toEqual([{ n: 1 }]);
  });

  test('whose wire id a call of an earlier step had means the call that waits [job.sequence]', async () => {
    const named = { ...report, callId: 'same' };
    const turn = environment.turn([[named], [named]]);
    await turn.start();
    for (const step of [1, 2]) {
      await expect.poll(() => environment.jobs.rows.get(turn.jobId(0, step))?.looks).toBeGreaterThan(0);
      await send(turn, message(`m${step}`, response('same', { step })));
    }
    await turn.result();
    for (const step of [1, 2]) {
      expect(environment.jobs.row(turn.jobId(0, step)).settled).toEqual([{ step }]);
    }
  });
});

describe('a message that comes before its call waits', () => {
  test('while its tool runs: the job ends at once, and the call need not wait [job.message]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    const receipt = await send(turn, message('m', response('id-1-0', { early: true })));
    expect(receipt.jobs).toMatchObject([{ status: 'ended', job: 'completed' }]);
    release();
    await turn.result();
    expect(row(turn).settled).toEqual([{ early: true }]);
  });

  test('while nobody knows that it has a job: it is kept until the call waits [job.message]', async () => {
    const turn = environment.turn([[{ tool: 'report', job: { undeclared: true } }]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    const receipt = await send(turn, message('m', response('id-1-0', { early: true })));
    expect(receipt.jobs).toMatchObject([{ status: 'kept', job: 'running', jobId: turn.jobId() }]);
    release();
    await turn.result();
    expect(row(turn).settled).toEqual([{ early: true }]);
  });

  test('while its step is asked for, by the id that we give its call [job.message]', async () => {
    const turn = environment.turn([[report]]);
    const release = turn.hold('holdfast.callModel');
    await turn.start();
    await expect.poll(() => turn.inputs('holdfast.callModel').length).toBe(1);
    const receipt = await send(turn, message('m', response(`adk-${turn.callKey()}`, { early: true })));
    expect(receipt.jobs).toMatchObject([{ status: 'kept' }]);
    release();
    await turn.result();
    expect(row(turn).settled).toEqual([{ early: true }]);
  });

  test('of a call that has no job: an operator reads that it was in vain [job.message]', async () => {
    const turn = environment.turn([[{ tool: 'plain' }, report]]);
    const release = turn.hold('plain');
    await turn.start();
    await turn.parked();
    const receipt = await send(turn, message('m', response('id-1-0', { n: 1 })));
    expect(receipt.jobs).toMatchObject([{ status: 'kept' }]);
    release();
    await expect.poll(() => turn.details()).toContain('response to id-1-0 refused: its call has ended');
    await send(turn, message('n', response('id-1-1', {})));
    await turn.result();
  });

  test('of a call that then goes on without the turn [job.message]', async () => {
    const turn = environment.turn([[{ tool: 'report', job: { undeclared: true, detached: true } }]]);
    const release = turn.hold('report');
    await turn.start();
    await expect.poll(() => turn.inputs('report').length).toBe(1);
    await send(turn, message('m', response('id-1-0', { early: true })));
    release();
    await turn.result();
    await expect.poll(() => row(turn).delivered).toEqual([{ early: true }]);
  });
});

describe('a message that is no response to a job of the turn', () => {
  test('waits as any other [job.message]', async () => {
    const turn = await parked(report);
    const receipt = await send(turn, message('m', response('id-of-another-turn', { n: 1 })));
    expect(receipt).toMatchObject({ status: 'queued', position: 1 });
    expect(receipt.jobs).toBeUndefined();
    expect((await turn.status()).queued).toBe(1);
    await send(turn, message('n', response('id-1-0', {})));
    expect((await turn.result()).others).toHaveLength(1);
  });
});
