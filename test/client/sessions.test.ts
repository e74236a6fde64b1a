import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { TurnRunning } from '../../src/client/client-errors.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { SessionNotFound } from '../../src/store/store-errors.ts';
import { DELETE_SOON } from '../setup/delete-soon.ts';
import { isDeep } from '../setup/tier.ts';
import { type ClientScene, newSession, openClientScene, PATIENT } from './client-scene.ts';

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene(DELETE_SOON);
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

async function answer(names: SessionNames, message: string) {
  const turn = await scene.client.sendMessage({ ...names, message, messageId: message });
  await turn.result();
  return turn;
}

/** Runs whose histories Temporal still has. */
async function runsOf(names: SessionNames): Promise<number> {
  const { workflow } = scene.environment.temporal;
  try {
    await workflow.getHandle(workflowIdOf(names.app, names.userId, names.sessionId)).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 0;
    throw error;
  }
  return 1;
}

describe('sessions', () => {
  test('are forked at an event, also while a turn runs [session.fork]', async () => {
    const names = newSession();
    await answer(names, 'one');
    await scene.holding(names);
    const fork = await scene.client.sessions.fork({ ...names, at: 2 });
    expect(fork).toMatchObject({ seq: 2, forkedFrom: { sessionId: names.sessionId, seq: 2 } });
    await answer(fork, 'in the fork');
    expect(await scene.said(fork)).toEqual(['one', 'answer to one', 'in the fork', 'answer to in the fork']);
    scene.held.release();
  });

  if (isDeep) {
    test('are deleted for good while somebody waits for a queued message [session.delete]', async () => {
      const names = newSession();
      const { first } = await scene.holding(names);
      await scene.client.sendMessage({ ...names, message: 'next', messageId: 'next' });
      const waiting = await scene.client.turn({ ...names, messageId: 'next' });
      const ended = waiting?.result().then(
        () => 'answered',
        () => 'given up',
      );
      await scene.client.sessions.delete({ ...names, cancelRunning: true });
      expect(await ended).toBe('given up');
      expect(await scene.client.sessions.get(names)).toBeUndefined();
      await expect.poll(() => runsOf(names)).toBe(0);
      expect(first.workflowId).toContain(names.sessionId);
    });
  }

  test('are rewound, not while a turn runs; what came later is not seen any more [session.rewind]', async () => {
    const names = newSession();
    await answer(names, 'one');
    const two = await answer(names, 'two');
    const marker = await scene.client.sessions.rewind({ ...names, beforeInvocationId: two.invocationId });
    expect(marker.event.actions).toMatchObject({ rewindBeforeInvocationId: two.invocationId });
    const asked = scene.environment.gemini.requests.length;
    const { first } = await scene.holding(names);
    expect(JSON.stringify(scene.environment.gemini.requests[asked]?.body.contents)).not.toContain('two');
    const rewind = scene.client.sessions.rewind({ ...names, beforeInvocationId: first.invocationId });
    await expect(rewind).rejects.toThrow(TurnRunning);
    await expect(rewind).rejects.toThrow(`a turn of session ${first.workflowId} runs: wait for its end`);
    scene.held.release();
  });

  test('are retried from a call as another invocation, under new keys [session.retry]', async () => {
    const { names, first } = await scene.holding(newSession(), 'hold two');
    await scene.held.begun(2);
    const callKey = `${first.invocationId}.1.1`;
    await expect(scene.client.sessions.retry({ ...names, callKey })).rejects.toThrow(TurnRunning);
    scene.held.release();
    await first.result();
    scene.held.hold();
    const retry = await scene.client.sessions.retry({ ...names, callKey });
    expect(retry).toMatchObject({ disposition: 'started', messageId: 'hold two' });
    expect(retry.invocationId).not.toBe(first.invocationId);
    await scene.held.begun();
    // Its settled sibling ends at once.
    await expect.poll(async () => (await scene.client.status(names, PATIENT))?.running.length).toBe(1);
    scene.held.release();
    expect(await retry.result()).toMatchObject({ status: 'completed', invocationId: retry.invocationId });
    expect(await retry.receipt(PATIENT)).toMatchObject({
      status: 'finished',
      invocationId: retry.invocationId,
    });
    const again = await scene.client.sendMessage({ ...names, message: 'hold two', messageId: 'hold two' });
    // One message id answers with the newest of its invocations.
    const { events } = await retry.result();
    expect((await again.result()).events).toEqual(events);
    const seqs: number[] = [];
    for await (const { seq } of again.events()) seqs.push(seq);
    expect(seqs).toEqual([events.to - 1, events.to]);
    await expect(scene.client.sessions.retry({ ...newSession(), callKey })).rejects.toThrow(SessionNotFound);
  });

  test('are retried after a termination, which the store knows nothing of [session.retry]', async () => {
    const { names, first } = await scene.holding();
    const { workflow } = scene.environment.temporal;
    await workflow.getHandle(first.workflowId).terminate('by an operator');
    await expect(first.result()).rejects.toThrow();
    scene.held.hold();
    const retry = await scene.client.sessions.retry({ ...names, callKey: `${first.invocationId}.1.0` });
    await scene.held.begun();
    scene.held.release();
    expect(await retry.result()).toMatchObject({ status: 'completed', text: 'answer to hold' });
    expect(scene.environment.gemini.refusals).toEqual([]);
  });
});

describe('deletion', () => {
  test('takes the content from the store and the histories from Temporal [session.delete]', async () => {
    const names = newSession();
    await answer(names, 'one');
    await answer(names, 'two');
    const deleted = await scene.client.sessions.delete(names);
    expect(deleted.sessions).toEqual([names]);
    expect(deleted.runs).toBeGreaterThanOrEqual(1);
    expect(await scene.client.sessions.get(names)).toBeUndefined();
    await expect.poll(() => runsOf(names)).toBe(0);
    expect(await scene.client.sessions.delete(names)).toMatchObject({ sessions: [] });
    await answer(names, 'anew');
    expect(await scene.said(names)).toEqual(['anew', 'answer to anew']);
  });

  test('says so where a cancelled turn has no worker to end it [session.delete]', async () => {
    const { names } = await scene.holding();
    await scene.environment.stopWorker();
    const refused = scene.client.sessions.delete({ ...names, cancelRunning: true, timeout: 300 });
    await expect(refused).rejects.toThrow(/has not ended within 300 ms: start a worker, or terminate it/);
    await scene.environment.restartWorker();
    await expect.poll(() => scene.client.status(names, PATIENT)).toBeUndefined();
  });

  test('spares sessions whose names only look alike, whatever characters they have [session.delete]', async () => {
    const stem = `o'neil "x" %_ \\ OR 1=1 -- ${'🦉'.repeat(3)} a/b ${newSession().sessionId}`;
    const names = (sessionId: string): SessionNames => ({ app: "it's 100%", userId: 'a/"b"', sessionId });
    const victim = names(stem);
    const alike = [`${stem} `, `${stem}/x`, stem.replace('_', 'X'), stem.replace("'", '"')].map(names);
    const long = names('ü'.repeat(1_000));
    for (const each of [victim, ...alike, long]) await answer(each, 'one');
    await answer(victim, 'two');
    const { workflow } = scene.environment.temporal;
    const victimId = workflowIdOf(victim.app, victim.userId, victim.sessionId);
    // Refused by their own id, which is that of no session: closed runs all the same.
    for (const workflowId of [`${victimId}/e-child`, `${victimId}X/e-child`]) {
      const child = await workflow.start('agentTurn', { workflowId, taskQueue: 'holdfast', args: [victim] });
      await expect(child.result()).rejects.toThrow();
    }
    // The index of runs is behind at times.
    await expect.poll(async () => (await workflow.count('WorkflowId STARTS_WITH "it\'s"')).count).toBe(9);
    expect(await scene.client.sessions.delete(victim)).toEqual({ sessions: [victim], runs: 3 });
    expect(await scene.client.sessions.delete(long)).toEqual({ sessions: [long], runs: 1 });
    await expect.poll(() => runsOf(victim)).toBe(0);
    expect((await workflow.getHandle(`${victimId}X/e-child`).describe()).status.name).toBe('FAILED');
    for (const each of alike) {
      expect(await runsOf(each)).toBe(1);
      expect(await scene.said(each)).toEqual(['one', 'answer to one']);
    }
  });

  test('by age takes idle sessions of one app only, and leaves those in use [session.retention]', async () => {
    const app = `old-${newSession().sessionId}`;
    const of = (sessionId: string, of = app) => ({ app: of, userId: 'ada', sessionId });
    for (const id of ['a', 'b', 'c']) await answer(of(id), 'one');
    await answer(of('a', 'test'), 'one');
    await scene.client.sessions.fork({ ...of('c'), to: 'fork' });
    await scene.holding(of('waits'));
    const deleted = await scene.client.sessions.deleteExpired(app, Date.now() + 60_000);
    const left = await scene.client.sessions.list({ app });
    expect(deleted.skipped).toEqual([of('waits')]);
    expect(left.sessions.map(({ sessionId }) => sessionId)).toEqual(['waits']);
    expect(deleted.runs).toBeGreaterThanOrEqual(3);
    expect(await scene.said(of('a', 'test'))).toHaveLength(2);
    await expect(scene.client.sessions.deleteExpired(app, 1e300)).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_TURN',
      message: expect.stringContaining('olderThan: expected a Date or milliseconds since the epoch'),
    });
    expect(await scene.client.sessions.deleteExpired(app, new Date(0))).toEqual({
      sessions: [],
      runs: 0,
      skipped: [],
    });
    scene.held.release();
  });

  test('by age spares what came into use after it was found [session.retention]', async () => {
    const app = `used-${newSession().sessionId}`;
    const names = { app, userId: 'ada', sessionId: 'a' };
    await answer(names, 'one');
    const { store } = scene.environment;
    const remove = store.sessions.delete.bind(store);
    const removing = vi.spyOn(store.sessions, 'delete').mockImplementationOnce(async (session) => {
      // A whole turn between the look for one that runs and the deletion.
      await answer(names, 'two');
      return await remove(session);
    });
    const deleted = await scene.client.sessions.deleteExpired(app, Date.now() + 1);
    removing.mockRestore();
    expect(deleted).toEqual({ sessions: [], runs: 0, skipped: [] });
    expect(await scene.said(names)).toEqual(['one', 'answer to one', 'two', 'answer to two']);
    expect(await runsOf(names)).toBe(1);
    expect(await scene.client.sessions.deleteExpired(app, Date.now() + 60_000)).toMatchObject({
      sessions: [names],
    });
  });

  if (isDeep) {
    test('by age is not held up by turns that wait, however many [session.retention]', async () => {
      const app = `parked-${newSession().sessionId}`;
      const of = (sessionId: string) => ({ app, userId: 'ada', sessionId });
      const parked = Array.from({ length: 120 }, (_, index) => of(`p${index}`));
      const { workflow } = scene.environment.temporal;
      const idOf = ({ userId, sessionId }: SessionNames) => workflowIdOf(app, userId, sessionId);
      const all = [of('before'), ...parked, of('after')];
      for (const names of all) await scene.client.sessions.create(names);
      await Promise.all(
        parked.map((names) =>
          workflow.start('agentTurn', { workflowId: idOf(names), taskQueue: 'nobody', args: [names] }),
        ),
      );
      const deleted = await scene.client.sessions.deleteExpired(app, Date.now() + 60_000);
      expect(deleted.sessions.map(({ sessionId }) => sessionId).sort()).toEqual(['after', 'before']);
      expect(deleted.skipped).toHaveLength(parked.length);
      await Promise.all(parked.map((names) => workflow.getHandle(idOf(names)).terminate()));
      const later = await scene.client.sessions.deleteExpired(app, Date.now() + 60_000);
      expect(later).toMatchObject({ skipped: [], runs: parked.length });
      expect(later.sessions).toHaveLength(parked.length);
    });
  }
});
