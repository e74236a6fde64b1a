import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { TurnUsage } from '../../../../src/contract/sessions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { StoreBehindHistory } from '../../../../src/store/store-errors.ts';
import type { CommitStep } from '../../../../src/store/turns/step-store.ts';
import { toKeep } from '../messages/inbox.ts';
import { newNames, nextFence, Turn, total, USAGE } from './turn.ts';

const HOUR = 3_600_000;

export function usageSuite(store: () => PostgresStore): void {
  const outcomeOf = async (turn: Turn) =>
    (await store().turns.findInvocation(turn.names, turn.invocationId))?.outcome;
  const sessionUsage = async (turn: Turn) =>
    (await new Turn(store(), { names: turn.names }).opened(1)).sessionUsage;
  const beganAgo = (turn: Turn, milliseconds: number) =>
    sql`update holdfast.runs set created_at = clock_timestamp() - ${milliseconds} * interval '1 millisecond'
      where session_id = ${turn.session} and run_key = ${turn.invocationId}`.execute(store().db);

  test('what steps use is summed up for the invocation and the session, in the outcomes too [budget.limits]', async () => {
    const turn = new Turn(store());
    expect(await turn.opened(1)).toMatchObject({ usage: total(0), sessionUsage: { ...total(0), time: 0 } });
    const first = await turn.commit(1, 1, { usage: { ...USAGE, cost: 0.5 } });
    expect(first.outcome).toMatchObject({ kind: 'calls', usage: { ...USAGE, cost: 0.5 } });
    await turn.settle(1, 0, { ok: true });
    expect(await turn.opened(2)).toMatchObject({
      usage: { ...USAGE, cost: 0.5 },
      sessionUsage: { ...USAGE, cost: 0.5, time: 0 },
    });
    expect((await turn.open(1)) as unknown).toMatchObject({
      kind: 'recorded',
      outcome: first.outcome,
      sessionUsage: { ...USAGE, cost: 0.5, time: 0 },
    });
    await turn.commit(2, 1, { actions: { stateDelta: { a: 1 } } });
    await turn.settle(2, 0, { ok: true });
    await turn.opened(3);
    const last = await turn.commit(3, 0, { usage: { ...USAGE, cost: 0.25 } });
    const used = { ...total(3), cost: 0.75 };
    expect(last.outcome).toMatchObject({ kind: 'final', outcome: { status: 'completed', usage: used } });
    expect(await outcomeOf(turn)).toEqual({ status: 'completed', text: 'done', usage: used });
    expect(await turn.open(1)).toMatchObject({ kind: 'finished', outcome: { usage: used } });

    const next = new Turn(store(), { names: turn.names });
    expect(await next.opened(1)).toMatchObject({ usage: total(0), sessionUsage: used });
    const { outcome } = await next.commit(1, 0);
    expect(outcome).toMatchObject({ outcome: { usage: USAGE } });
    expect(outcome).not.toHaveProperty('outcome.usage.cost');
    expect(await sessionUsage(turn)).toMatchObject({ ...total(4), cost: 0.75 });
  });

  test('an attempt that ended without a word counts as a model call of unknown cost [budget.limits]', async () => {
    const turn = new Turn(store());
    for (let attempt = 1; attempt <= 4; attempt += 1) await turn.opened(1);
    // The second one told what became of it.
    await store().turns.recordStepFailure({
      ...turn,
      runKey: turn.invocationId,
      step: 1,
      error: 'overloaded',
    });
    const { outcome } = await turn.commit(1, 1);
    const once = { ...USAGE, modelCalls: 3, unknownCalls: 2 };
    expect(outcome).toMatchObject({ usage: once });
    await turn.settle(1, 0, { ok: true });
    expect(await turn.opened(2)).toMatchObject({ usage: once, sessionUsage: once });
    await turn.opened(2);
    const final = await turn.commit(2, 0, { actions: { stateDelta: { a: 1 } } });
    const twice = { ...total(2), modelCalls: 5, unknownCalls: 3 };
    expect(final.outcome).toMatchObject({ outcome: { usage: twice } });
    expect((await outcomeOf(turn))?.usage).toEqual(twice);
    expect(await sessionUsage(turn)).toMatchObject(twice);
  });

  test('a provider that says wait has said something, and fails nothing [model.retry]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const wait = { session: turn.session, runKey: turn.invocationId, step: 1, error: '429', counts: false };
    expect(await store().turns.recordStepFailure(wait)).toBe(0);
    expect(await turn.opened(1)).toMatchObject({ attempt: 2, failures: 0 });
    expect(await store().turns.recordStepFailure(wait)).toBe(0);
    await turn.opened(1);
    expect((await turn.commit(1, 0)).outcome).toMatchObject({ outcome: { usage: USAGE } });
  });

  test('a turn that ends in a model call has used one of unknown cost [budget.limits]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1, { usage: { ...USAGE, cost: 2 } });
    await turn.settle(1, 0, { ok: true });
    await turn.opened(2);
    // What the caller believes doesn't count.
    const { outcome } = await turn.end(2, [], { status: 'interrupted', usage: total(7) });
    const used = { ...USAGE, modelCalls: 2, unknownCalls: 1, cost: 2 };
    expect(outcome).toEqual({ status: 'interrupted', usage: used });
    expect(await outcomeOf(turn)).toEqual(outcome);
    expect(await sessionUsage(turn)).toMatchObject(used);
  });

  test('a turn that is healed keeps count of its last attempts [store.heal]', async () => {
    const names = newNames();
    const turn = new Turn(store(), { names });
    await turn.opened(1);
    await turn.opened(1);
    const next = new Turn(store(), { names });
    const used = { ...total(0), modelCalls: 2, unknownCalls: 2 };
    expect((await next.opened(1)).sessionUsage).toEqual({ ...used, time: expect.any(Number) });
    expect(await outcomeOf(turn)).toEqual({ status: 'interrupted', usage: used });
  });

  test("a child's use counts for its invocation, whoever ends it [budget.limits]", async () => {
    const root = new Turn(store());
    await root.opened(1);
    await root.commit(1, 1);
    const { session, invocationId, fence } = root;
    const child = { session, invocationId, runKey: 'e-child', step: 1, fence, agent: 'helper' };
    const usage: TurnUsage = { ...USAGE, cost: 1 };
    const open = () => store().turns.openStep({ ...child, seq: 0 });
    await open();
    expect(await open()).toMatchObject({ usage: USAGE, sessionUsage: USAGE });
    const commit: CommitStep = {
      ...child,
      events: [],
      calls: [],
      rows: [],
      usage,
      outcome: { v: 1, kind: 'final', session, seq: 0, from: 0, agent: 'helper', outcome: done() },
      ending: done(),
    };
    const used = { ...total(2), modelCalls: 3, unknownCalls: 1, cost: 1 };
    expect((await store().turns.commitStep(commit)).outcome).toMatchObject({ outcome: { usage: used } });
    expect(await open()).toMatchObject({ kind: 'finished', outcome: { usage: used } });
    await store().turns.openStep({ ...child, runKey: 'e-other', seq: 0 });
    const more = { ...used, modelCalls: 4, unknownCalls: 2 };
    const ended = await store().turns.settleStep({
      ...child,
      runKey: 'e-other',
      unsettled: [],
      ending: { outcome: { status: 'failed', usage: USAGE } },
    });
    expect(ended.outcome).toEqual({ status: 'failed', usage: more });
    await store().turns.openStep({ ...child, runKey: 'e-third', seq: 0 });
    const last = { ...more, modelCalls: 5, unknownCalls: 3 };
    expect(await sessionUsage(root)).toMatchObject(last);
    expect((await outcomeOf(root))?.usage).toEqual(last);
    const orphan = { ...child, runKey: 'e-orphan', invocationId: 'e-none', fence: nextFence() };
    await expect(store().turns.openStep({ ...orphan, seq: 0 })).rejects.toBeInstanceOf(StoreBehindHistory);
    const end = { unsettled: [], ending: { outcome: done() } };
    await expect(store().turns.settleStep({ ...orphan, ...end })).rejects.toBeInstanceOf(StoreBehindHistory);
  });

  test("the wall time of ended invocations is the session's, and an open one has an age [budget.limits]", async () => {
    const names = newNames();
    const first = new Turn(store(), { names });
    expect((await first.opened(1)).age).toBeLessThan(60_000);
    await beganAgo(first, HOUR);
    const { age, sessionUsage: before } = await first.opened(1);
    expect(age).toBeGreaterThanOrEqual(HOUR);
    expect(age).toBeLessThan(HOUR + 60_000);
    expect(Number.isInteger(age)).toBe(true);
    expect(before.time).toBe(0);
    await first.commit(1, 1);
    expect((await first.open(1)) as { age?: number }).toMatchObject({ kind: 'recorded' });
    expect(((await first.open(1)) as { age: number }).age).toBeGreaterThanOrEqual(HOUR);
    await first.settle(1, 0, { ok: true });
    expect((await first.opened(2)).sessionUsage.time).toBe(0);
    await first.commit(2, 0);
    const second = new Turn(store(), { names });
    const { sessionUsage: after } = await second.opened(1);
    expect(after.time).toBeGreaterThanOrEqual(HOUR);
    await second.commit(1, 1);
    await beganAgo(second, HOUR);
    await second.end(1, [], { status: 'interrupted', usage: USAGE });
    const third = new Turn(store(), { names });
    const { time } = (await third.opened(1)).sessionUsage;
    expect(time).toBeGreaterThanOrEqual(2 * HOUR);
    expect(time).toBeLessThan(2 * HOUR + 60_000);
    // A clock that was set back.
    await beganAgo(third, -HOUR);
    expect((await third.opened(1)).age).toBe(0);
    await third.commit(1, 0);
    expect((await sessionUsage(third)).time).toBe(time);
  });

  test('nobody worked on a broken turn between its last sign of life and its healing [store.heal]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await beganAgo(turn, 10 * HOUR);
    const calledAgo = (key: string, hours: number) =>
      sql`update holdfast.ledger set started_at = clock_timestamp() - ${hours} * interval '1 hour'
        where session_id = ${turn.session} and key = ${key}`.execute(store().db);
    await calledAgo(`${turn.invocationId}.1`, 9);
    // Messages that come in are no sign of life.
    await store().messages.upload({ ...turn.names, messageId: 'm1', message: 'hi' });
    await store().messages.keep({ ...turn.names, startedAt: 1, messages: [toKeep(turn.names, 'm2')] });
    const { time } = await sessionUsage(turn);
    expect(time).toBeGreaterThan(HOUR - 60_000);
    expect(time).toBeLessThan(HOUR + 60_000);
  });

  test('a turn worked until its last call began, or settled [store.heal]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 2);
    await turn.begin(1, 0);
    await turn.settle(1, 1, { ok: true });
    await beganAgo(turn, 10 * HOUR);
    await sql`update holdfast.ledger set started_at = started_at - interval '8 hours',
      settled_at = settled_at - interval '9 hours' where session_id = ${turn.session}`.execute(store().db);
    const { time } = await sessionUsage(turn);
    expect(time).toBeGreaterThan(2 * HOUR - 60_000);
    expect(time).toBeLessThan(2 * HOUR + 60_000);
  });
}

function done() {
  return { status: 'completed', text: 'ok', usage: USAGE } as const;
}
