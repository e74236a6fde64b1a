import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import { RequestNotPending } from '../../src/client/client-errors.ts';
import type { Confirm, DecisionReceipt } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { callKeyOf, invocationIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { Dooms, Moment } from '../setup/doom.ts';
import { GATED_APP, type GatedTool } from '../setup/gated-apps.ts';
import { GatedStage } from '../setup/gated-stage.ts';
import { idleWorkflow } from '../setup/idle-workflow.ts';
import { followsMessages, messageOf } from './model.ts';

const UNKNOWN = { error: 'outcome unknown: this call may have run; check before repeating it' };
const REJECTED = { error: 'This tool call is rejected.' };

const invocationId = (sessionId: string) => invocationIdOf(GATED_APP, 'ada', sessionId, 'm1');
const doomed = (sessionId: string, moment: Moment, index = 0): Dooms => ({
  [callKeyOf(invocationId(sessionId), 1, index)]: moment,
});

/** Workers die here. */
const DOOMS = {
  ...doomed('voted', 'after vote'),
  ...doomed('closed', 'after settle'),
  ...doomed('sent again', 'effect'),
  ...doomed('sent again inside', 'effect'),
};

let stage: GatedStage;
beforeAll(async () => {
  stage = await GatedStage.open(followsMessages, DOOMS);
  await stage.worker.start();
});
afterAll(() => stage.close());

/** A turn that waits for all calls of its last step. */
class WaitingTurn {
  readonly names: { app: string; userId: string; sessionId: string };
  /** Tools of its steps. */
  readonly #steps: readonly (readonly GatedTool[])[];

  /** @param before of a step before that in which it waits. */
  constructor(sessionId: string, tools: readonly GatedTool[], before: readonly GatedTool[] = []) {
    this.names = { app: GATED_APP, userId: 'ada', sessionId };
    this.#steps = before.length === 0 ? [tools] : [before, tools];
  }

  static async start(sessionId: string, ...tools: GatedTool[]): Promise<WaitingTurn> {
    const turn = new WaitingTurn(sessionId, tools);
    await turn.send();
    await expect.poll(async () => (await turn.rows('pending')).length).toBe(tools.length);
    await expect.poll(async () => (await turn.status()).waiting.length).toBe(tools.length);
    return turn;
  }

  get handle() {
    const { app, userId, sessionId } = this.names;
    return stage.temporal.workflow.getHandle(workflowIdOf(app, userId, sessionId));
  }

  async send(): Promise<void> {
    const steps = this.#steps.map((tools) =>
      tools.map((tool, index) => ({ tool, callKey: '', args: { n: index + 1, amount: 70 } })),
    );
    const message = messageOf({ messageId: 'm1', invocationId: '', steps });
    await stage.client.sendMessage({ ...this.names, message, messageId: 'm1' });
  }

  rows(...status: ApprovalRow['status'][]): Promise<ApprovalRow[]> {
    return stage.store.approvals.list({ ...this.names, status });
  }

  async row(index = 0): Promise<ApprovalRow> {
    const row = await stage.store.approvals.find(`rq-${this.callKey(index)}.1`);
    if (row === undefined) throw new Error('nobody was asked');
    return row;
  }

  callKey(index = 0): string {
    return callKeyOf(invocationId(this.names.sessionId), this.#steps.length, index);
  }

  /** Its history, which needs no worker, has such an event. */
  async happened(what: 'timerStartedEventAttributes' | 'timerFiredEventAttributes'): Promise<void> {
    await expect
      .poll(async () => (await this.handle.fetchHistory()).events?.some((event) => event[what]))
      .toBe(true);
  }

  status(): Promise<TurnStatus> {
    return this.handle.query<TurnStatus>('status');
  }

  async signal(confirmed: boolean, index = 0): Promise<void> {
    const { requestId } = await this.row(index);
    await this.handle.signal('confirm', { requestId, confirmed });
  }

  async signed(by: string, confirmed: boolean): Promise<Confirm> {
    const { requestId, argsDigest, session } = await this.row();
    const key = stage.keys.get(by);
    if (key === undefined) throw new Error(`${by} has no key`);
    const { issuer, privateKey } = key;
    const claims = { issuer, approver: by, requestId, session, argsDigest, channel: 'test' };
    const attestation = await signDecision({ ...claims, decision: decisionOf({ confirmed }) }, privateKey);
    return { requestId, confirmed, attestation };
  }

  /** What its calls came to, once it has ended. */
  async responses(): Promise<unknown[]> {
    const id = invocationId(this.names.sessionId);
    await expect
      .poll(async () => (await stage.store.turns.findInvocation(this.names, id))?.status)
      .toBe('completed');
    const events = await stage.store.sessions.readEvents(this.names);
    return events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);
  }

  /** Numbers of the calls that have had their effects, in order. */
  effects(): number[] {
    const keys = new Set([0, 1, 2].map((index) => this.callKey(index)));
    return stage.effects
      .read()
      .filter(({ callKey }) => keys.has(callKey))
      .map(({ args }) => args.n);
  }
}

describe('with no worker up', () => {
  test.each([
    [1, 0],
    [0, 1],
  ] as [number, number][])(
    'a pair is answered in the order %i, %i, the worker killed in between: each runs once [confirm.many] [confirm.once]',
    async (first, second) => {
      const turn = await WaitingTurn.start(`pair ${first}`, 'pay', 'pay');
      await turn.signal(true, first);
      await expect.poll(() => turn.effects()).toEqual([first + 1]);
      // A worker that dies between an effect and its record leaves an unknown outcome.
      await idleWorkflow(turn.handle);
      await stage.worker.stop();
      await turn.signal(true, second);
      await stage.worker.start();
      expect(await turn.responses()).toEqual([
        expect.objectContaining({ n: 1 }),
        expect.objectContaining({ n: 2 }),
      ]);
      expect(turn.effects()).toEqual([first + 1, second + 1]);
    },
  );

  test('the first of opposite decisions counts, and an update waits for its answer [confirm.once] [confirm.signal]', async () => {
    const turn = await WaitingTurn.start('opposites', 'pay');
    await stage.worker.stop();
    await turn.signal(false);
    await turn.signal(true);
    const { requestId } = await turn.row();
    const late = turn.handle
      .executeUpdate<DecisionReceipt, [Confirm]>('confirm', { args: [{ requestId, confirmed: false }] })
      .then(({ status }) => status);
    await stage.worker.start();
    expect(await late).toBe('duplicate');
    expect(await turn.responses()).toEqual([expect.objectContaining(REJECTED)]);
    expect(turn.effects()).toEqual([]);
    expect((await turn.row()).status).toBe('rejected');
    await expect
      .poll(async () => (await stage.client.approvals.audit(turn.names)).map(({ kind }) => kind).toSorted())
      .toEqual(['refused', 'rejected', 'requested']);
  });

  test.each([
    ['pay_soon', { status: 'expired', effects: [] }],
    ['pay_anyway', { status: 'approved', effects: [1] }],
  ] as const)(
    'a request of %s expires all the same, and what comes behind that is too late [approval.expiry]',
    async (tool, expected) => {
      const turn = new WaitingTurn(`expired ${tool}`, [tool]);
      await turn.send();
      await turn.happened('timerStartedEventAttributes');
      // A machine that is slow enough has let it expire by now.
      await stage.worker.stop();
      await turn.happened('timerFiredEventAttributes');
      await stage.worker.start();
      await turn.responses();
      expect(turn.effects()).toEqual(expected.effects);
      expect((await turn.row()).status).toBe(expected.status);
      const { requestId } = await turn.row();
      const late = stage.client.approvals.confirm({ requestId }, { confirmed: tool !== 'pay_anyway' });
      await expect(late).rejects.toThrow(RequestNotPending);
      expect(turn.effects()).toEqual(expected.effects);
    },
  );
});

describe('a worker that is killed', () => {
  test('behind the record of a vote: the vote counts once [approval.quorum] [approval.audit]', async () => {
    const turn = await WaitingTurn.start('voted', 'pay_quorum');
    await turn.handle.signal('confirm', await turn.signed('mira', true));
    await expect.poll(() => stage.doom.hasCome(turn.callKey())).toBe(true);
    await turn.handle.signal('confirm', await turn.signed('mira', true));
    await expect.poll(async () => (await turn.status()).waiting[0]?.votes.approvals).toBe(1);
    expect(turn.effects()).toEqual([]);
    await turn.handle.signal('confirm', await turn.signed('otto', true));
    expect(await turn.responses()).toEqual([expect.objectContaining({ n: 1 })]);
    expect(turn.effects()).toEqual([1]);
    const { votes, history } = await turn.row();
    expect(votes.map(({ by }) => by.principal)).toEqual(['mira', 'otto']);
    expect(history.filter(({ kind }) => kind === 'voted')).toHaveLength(2);
    expect(await stage.client.approvals.verifyAudit(turn.names)).toMatchObject({ ok: true });
  });

  test('behind the record of a rejection: it stays one [confirm.default]', async () => {
    const turn = await WaitingTurn.start('closed', 'pay');
    await turn.signal(false);
    expect(await turn.responses()).toEqual([expect.objectContaining(REJECTED)]);
    expect(stage.doom.hasCome(turn.callKey())).toBe(true);
    await turn.signal(true).catch(() => undefined);
    expect(turn.effects()).toEqual([]);
  });

  test.each(['sent again', 'sent again inside'])(
    'behind an effect, its turn terminated and sent again: nobody is asked again, and nothing started: %s [confirm.once]',
    async (sessionId) => {
      const inside = sessionId.endsWith('inside');
      const turn = await WaitingTurn.start(sessionId, inside ? 'pay_inside' : 'pay');
      await turn.signal(true);
      await expect.poll(() => stage.doom.hasCome(turn.callKey())).toBe(true);
      await turn.handle.terminate();
      await turn.send();
      expect(await turn.responses()).toEqual([UNKNOWN]);
      expect(turn.effects()).toEqual([1]);
      expect((await turn.row()).history.map(({ kind }) => kind)).toEqual(['approved']);
    },
  );
});

test('a turn that is terminated in a later step and sent again asks there as before, from inside too [confirm.inside]', async () => {
  const turn = new WaitingTurn('later step', ['pay_inside'], ['look']);
  await turn.send();
  await expect.poll(async () => (await turn.rows('pending')).length).toBe(1);
  await turn.handle.terminate();
  await turn.send();
  await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
  await turn.signal(true);
  expect(await turn.responses()).toEqual([
    expect.objectContaining({ n: 1 }),
    expect.objectContaining({ n: 1 }),
  ]);
  expect(turn.effects()).toEqual([1]);
});

test('a turn that is terminated and sent again waits for those only who have not answered [confirm.many] [confirm.answered]', async () => {
  const turn = await WaitingTurn.start('answered in part', 'pay', 'pay', 'pay');
  await turn.signal(true, 1);
  await turn.signal(false, 2);
  await expect.poll(async () => (await turn.rows('approved', 'rejected')).length).toBe(2);
  await expect.poll(() => turn.effects()).toEqual([2]);
  await turn.handle.terminate();
  await turn.send();
  const { requestId } = await turn.row();
  await expect
    .poll(async () => (await turn.status()).waiting.map((waiting) => waiting.requestId))
    .toEqual([requestId]);
  await turn.signal(true);
  const [first, , third] = await turn.responses();
  expect([first, third]).toEqual([expect.objectContaining({ n: 1 }), expect.objectContaining(REJECTED)]);
  expect(turn.effects()).toEqual([2, 1]);
});

describe('a Temporal server that is killed', () => {
  test('while turns wait: they wait on, and what was said before and comes after counts [confirm.signal] [confirm.once]', async () => {
    const turn = await WaitingTurn.start('restarted', 'pay', 'pay');
    await stage.worker.stop();
    await turn.signal(true, 1);
    await stage.restartServer();
    await stage.worker.start();
    await expect.poll(() => turn.effects()).toEqual([2]);
    await expect
      .poll(async () => (await turn.status()).waiting.map(({ requestId }) => requestId))
      .toEqual([(await turn.row(0)).requestId]);
    await turn.signal(true, 0);
    await turn.responses();
    expect(turn.effects()).toEqual([2, 1]);
  });
});
