import { expect, test } from 'vitest';
import type { Part } from '../../../../src/events/content.ts';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { PeekedStep } from '../../../../src/store/turns/step-store.ts';
import { USAGE } from '../turns/turn.ts';
import { AnsweringTurn, answer, JobTurn, ORDERED, REPORT } from './job-turn.ts';

const PAPER = { error: 'out of paper' };

const WAYS = ['sent along', 'from the inbox'] as const;

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function jobMessageSuite(store: () => PostgresStore): void {
  /** A turn with detached jobs, and one whose message answers its calls. */
  async function answered(jobs = 1): Promise<{ turn: JobTurn; next: AnsweringTurn }> {
    const turn = new JobTurn(store());
    await turn.detached(jobs);
    return { turn, next: new AnsweringTurn(store(), { names: turn.names }) };
  }

  async function opens(next: AnsweringTurn, way: (typeof WAYS)[number], parts: Part[]) {
    if (way === 'sent along') return await next.opens(parts);
    await next.queued(parts);
    return await next.opens();
  }

  /** What plugins are shown. */
  async function peeked(next: AnsweringTurn, way: (typeof WAYS)[number], parts: Part[]): Promise<PeekedStep> {
    if (way === 'sent along') return await next.peek(1, { message: next.message(parts) });
    await next.queued(parts);
    return await next.peek(1);
  }

  test.each(WAYS)('a message %s ends the job whose call it answers, once [job.message]', async (way) => {
    const { turn, next } = await answered(2);
    const parts = [{ text: 'here' }, answer(0, REPORT.response), answer(1, PAPER)];
    const { jobs, seq } = await opens(next, way, parts);
    const { address } = turn.newJob(0);
    const told = [0, 1].map((index) => ({
      jobId: turn.jobId(index),
      ended: true,
      address: { ...address, activityId: turn.callKey(1, index) },
    }));
    expect(jobs).toHaveLength(2);
    expect(jobs).toEqual(expect.arrayContaining(told));
    expect(await next.heard()).toEqual(parts);
    const first = await turn.job(0);
    const by = { endedBy: 'message', deliveredSeq: seq };
    expect(first).toMatchObject({ status: 'completed', outcome: REPORT, ...by });
    expect(await turn.job(1)).toMatchObject({
      status: 'failed',
      outcome: { response: PAPER, failed: true },
      ...by,
    });
    // Whoever opens it again can tell those who wait.
    expect((await next.opens(way === 'sent along' ? parts : undefined)).jobs).toEqual(jobs);
    expect(await turn.job(0)).toEqual(first);
    expect(await store().jobs.delivery({ session: turn.session, jobId: turn.jobId(0) })).toBe('told');
  });

  test.each(WAYS)('a message %s that comes too late says what the job came to [job.message]', async (way) => {
    const { turn, next } = await answered();
    const { job } = await turn.endJob(0);
    const parts = [{ text: 'here' }, answer(0, PAPER)];
    const told = [{ text: 'here' }, answer(0, REPORT.response)];
    expect((await peeked(next, way, parts)).message?.parts).toEqual(told);
    const { jobs, seq, events } = await next.opens(way === 'sent along' ? parts : undefined);
    expect(jobs ?? []).toEqual([]);
    expect(await next.heard()).toEqual(told);
    expect(events.at(-1)?.event.content?.parts).toEqual(told);
    expect(await turn.job(0)).toEqual({ ...job, deliveredSeq: seq });
  });

  test('what a session is told of an outcome that is recorded changes nothing but that it was told [job.detach]', async () => {
    const { turn, next } = await answered();
    const { job } = await turn.endJob(0);
    const { session, jobId } = job;
    expect(await store().jobs.delivery({ session, jobId })).toBe('due');
    const { jobs, seq } = await next.opens([answer(0, REPORT.response)]);
    expect(jobs ?? []).toEqual([]);
    expect(await turn.job(0)).toEqual({ ...job, deliveredSeq: seq });
    expect(await store().jobs.delivery({ session, jobId })).toBe('told');
    const later = new AnsweringTurn(store(), { names: turn.names });
    await later.opens([answer(0, REPORT.response)]);
    expect((await turn.job(0))?.deliveredSeq).toBe(seq);
  });

  test.each(WAYS)('an update %s is heard, and leaves the job as it is [job.updates]', async (way) => {
    const { turn, next } = await answered();
    const parts = [answer(0, { pages: 3 }, true)];
    const { jobs } = await opens(next, way, parts);
    const { address } = turn.newJob(0);
    expect(jobs).toEqual([{ jobId: turn.jobId(0), ended: false, address }]);
    expect(await next.heard()).toEqual(parts);
    const job = await turn.job(0);
    expect(job).toMatchObject({ status: 'running', intermediate: { pages: 3 }, heardAt: expect.any(Number) });
    expect(job).not.toHaveProperty('deliveredSeq');
    expect((await next.opens(way === 'sent along' ? parts : undefined)).jobs).toEqual(jobs);
    await turn.endJob(0);
    expect((await next.opens(way === 'sent along' ? parts : undefined)).jobs).toEqual(jobs);
    expect(await turn.job(0)).toMatchObject({ endedBy: 'callback', outcome: REPORT });
  });

  test('an update that comes after the end says what the job came to [job.updates]', async () => {
    const { turn, next } = await answered();
    await turn.endJob(0);
    const parts = [answer(0, { pages: 3 }, true)];
    expect((await peeked(next, 'sent along', parts)).message?.parts).toEqual([answer(0, REPORT.response)]);
    const { seq } = await next.opens(parts);
    expect(await next.heard()).toEqual([answer(0, REPORT.response)]);
    expect(await turn.job(0)).toMatchObject({ intermediate: ORDERED, deliveredSeq: seq });
  });

  test('two outcomes in one message are one [job.message]', async () => {
    const { turn, next } = await answered();
    const parts = [answer(0, { pages: 3 }, true), answer(0, REPORT.response), answer(0, PAPER)];
    const told = [...parts.slice(0, 2), answer(0, REPORT.response)];
    expect((await peeked(next, 'sent along', parts)).message?.parts).toEqual(told);
    expect((await next.opens(parts)).jobs).toMatchObject([{ ended: true }]);
    expect(await next.heard()).toEqual(told);
    expect(await turn.job(0)).toMatchObject({ intermediate: { pages: 3 }, outcome: REPORT });
  });

  test('a message of nothing that is a job’s stays as it is, byte by byte [job.message]', async () => {
    const { turn, next } = await answered();
    const parts: Part[] = [
      { text: '"functionResponse" of call_0' },
      { functionResponse: { id: 'another', name: 'pay', response: { ok: 1 } } },
      { functionResponse: { name: 'pay', response: { ok: 1 } } },
    ];
    expect((await next.peek(1, { message: next.message(parts) })).message).toBeUndefined();
    expect((await next.opens(parts)).jobs ?? []).toEqual([]);
    expect(await next.heard()).toEqual(parts);
    expect(await turn.job(0)).toMatchObject({ status: 'running' });
  });

  test('a response that is no object, or none, ends its job all the same [job.message]', async () => {
    const { turn, next } = await answered();
    await next.opens([{ functionResponse: { id: 'call_0', name: 'pay' } }]);
    expect(await turn.job(0)).toMatchObject({
      status: 'completed',
      outcome: { response: {}, failed: false },
    });
  });

  test('of several jobs with one call id the newest is meant, of those that no rewind hides [job.message]', async () => {
    const { turn } = await answered();
    const second = new JobTurn(store(), { names: turn.names });
    await second.detached();
    const third = new JobTurn(store(), { names: turn.names });
    await third.detached();
    await store().sessions.rewind({ ...turn.names, beforeInvocationId: third.invocationId });
    const next = new AnsweringTurn(store(), { names: turn.names });
    expect((await next.opens([answer(0, REPORT.response)])).jobs).toMatchObject([{ jobId: second.jobId(0) }]);
    const statuses = await Promise.all([turn, second, third].map((one) => one.job(0)));
    expect(statuses.map((job) => job?.status)).toEqual(['running', 'completed', 'running']);
  });

  test('another session’s jobs are none of a message’s, a fork’s neither [job.message]', async () => {
    const { turn } = await answered();
    const fork = await store().sessions.fork({ ...turn.names, to: 's2' });
    const next = new AnsweringTurn(store(), { names: { ...turn.names, sessionId: fork.sessionId } });
    const parts = [answer(0, REPORT.response)];
    expect((await next.opens(parts)).jobs ?? []).toEqual([]);
    expect(await next.heard()).toEqual(parts);
    expect(await turn.job(0)).toMatchObject({ status: 'running' });
  });

  test('a message answers a call of a turn that died, before that is cut off [job.message]', async () => {
    const turn = new JobTurn(store());
    await turn.calling(2);
    await turn.parked(0);
    await turn.parked(1);
    const next = new AnsweringTurn(store(), { names: turn.names });
    const parts = [answer(0, REPORT.response), answer(1, { pages: 3 }, true)];
    const { message } = await next.peek(1, { message: next.message(parts) });
    const { seq } = await next.opens(parts);
    expect(await next.heard()).toEqual(message?.parts);
    expect(await turn.job(0)).toMatchObject({ status: 'completed', outcome: REPORT, deliveredSeq: seq });
    const cutOff = await turn.job(1);
    expect(cutOff).toMatchObject({ status: 'cancelled', endedBy: 'turn', deliveredSeq: seq });
    expect(await next.heard()).toEqual([parts[0], answer(1, cutOff?.outcome?.response ?? {})]);
  });

  test('a message of a turn that ends before it begins is heard, too [job.message]', async () => {
    const { turn, next } = await answered();
    await next.queued([answer(0, REPORT.response)]);
    next.session = turn.session;
    await next.end(1, [], INTERRUPTED);
    expect(await next.heard()).toEqual([answer(0, REPORT.response)]);
    expect(await turn.job(0)).toMatchObject({
      endedBy: 'message',
      outcome: REPORT,
      deliveredSeq: expect.any(Number),
    });
  });

  test('the model is told that there is more to come [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.calling(3);
    await turn.settleGoingOn(0);
    await Promise.all([turn.settleGoingOn(1), turn.settle(1, 2, { ok: true })]);
    // The first outcome is the one that counts, with all that belongs to it.
    await Promise.all([turn.settleGoingOn(2), turn.settle(1, 1, { ok: true })]);
    const { responses } = await turn.peek(2);
    const { events } = await turn.opened(2);
    const parts = [answer(0, ORDERED, true), answer(1, ORDERED, true), answer(2, { ok: true })];
    expect(events.at(-1)?.event.content?.parts).toEqual(parts);
    expect(responses?.content?.parts).toEqual(parts);
  });

  test('what plugins made of responses is what is appended, jobs or not [job.detach]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    await turn.settleGoingOn(0);
    const responses = {
      invocationId: turn.invocationId,
      author: 'clerk',
      content: { role: 'user', parts: [answer(0, { own: 1 })] },
      actions: createEventActions(),
    };
    const { events } = await turn.opened(2, { responses });
    expect(events.at(-1)?.event.content?.parts).toEqual(responses.content.parts);
  });
}
