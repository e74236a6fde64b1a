import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { watchingReads } from '../statements.ts';
import { newNames, USAGE } from '../turns/turn.ts';
import { AnsweringTurn, answer, JobTurn, REPORT } from './job-turn.ts';

/** Rows that have ended. */
const MANY = inTier(2_000, 10_000);

/** Of one table, for one statement. */
const MOST_ROWS = 60;

const ENDED = ['completed', 'failed', 'cancelled', 'timed_out'] as const;

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function jobListSuite(store: () => PostgresStore): void {
  test('a list has what is short of a job’s responses; all of one that is looked for by its id [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling(3);
    const large = { pages: 'x'.repeat(5_000) };
    for (const index of [0, 1, 2]) await turn.openJob(index);
    await store().jobs.progress({ jobId: turn.jobId(0), intermediate: large });
    await turn.endJob(1, { outcome: { response: large, failed: false } });
    await turn.endJob(2);
    const rows = await store().jobs.list({ ...turn.names, status: ['running', 'completed'] });
    const of = (index: number) => rows.find(({ jobId }) => jobId === turn.jobId(index));
    expect(of(0)).toBeDefined();
    expect(of(0)).not.toHaveProperty('intermediate');
    expect(of(1)).toMatchObject({ status: 'completed' });
    expect(of(1)).not.toHaveProperty('outcome');
    const { args: _args, ...whole } = (await turn.job(2)) ?? {};
    expect(of(2)).toEqual(whole);
    expect(await turn.job(0)).toMatchObject({ intermediate: large });
    expect(await turn.job(1)).toMatchObject({ outcome: { response: large } });
  });

  test('jobs are listed by app, user, session and status, oldest first, page by page [job.progress]', async () => {
    const { app } = newNames();
    const places = [
      ['ada', 's1', app],
      ['ada', 's2', app],
      ['bob', 's1', app],
      ['ada', 's1', `${app}-2`],
    ] as const;
    const turns: JobTurn[] = [];
    for (const [userId, sessionId, ofApp] of places) {
      const turn = new JobTurn(store(), { names: { app: ofApp, userId, sessionId } });
      await turn.calling(2);
      await turn.openJob(0);
      await turn.openJob(1);
      turns.push(turn);
    }
    const all = (await store().jobs.list({ limit: 1_000 })).map(({ jobId }) => jobId);
    const ids = (turn: JobTurn | undefined, ...indexes: number[]) =>
      indexes.map((index) => turn?.jobId(index));
    /** In the order of the store: jobs of one millisecond come by their ids. */
    const inOrder = (wanted: (string | undefined)[]) => all.filter((jobId) => wanted.includes(jobId));
    const listed = async (list: Parameters<PostgresStore['jobs']['list']>[0]) =>
      (await store().jobs.list(list)).map(({ jobId }) => jobId);
    const [s1, s2, bobs, other] = turns;
    expect(await listed({ app })).toEqual(inOrder([...ids(s1, 0, 1), ...ids(s2, 0, 1), ...ids(bobs, 0, 1)]));
    expect(await listed({ app, userId: 'ada' })).toEqual(inOrder([...ids(s1, 0, 1), ...ids(s2, 0, 1)]));
    expect(await listed({ app, userId: 'ada', sessionId: 's2' })).toEqual(inOrder(ids(s2, 0, 1)));
    expect(await listed({ app, sessionId: 's1' })).toEqual(inOrder([...ids(s1, 0, 1), ...ids(bobs, 0, 1)]));
    expect(await listed({ app: `${app}-2` })).toEqual(inOrder(ids(other, 0, 1)));
    expect(all).toEqual(expect.arrayContaining([...ids(s1, 0, 1), ...ids(other, 0, 1)]));

    await s1?.endJob(0);
    await s2?.endJob(1, { status: 'timed_out' });
    expect(await listed({ app, userId: 'ada' })).toEqual(inOrder([...ids(s1, 1), ...ids(s2, 0)]));
    expect(await listed({ app, status: ['timed_out'] })).toEqual(ids(s2, 1));
    expect(await listed({ app, status: ['timed_out', 'completed'] })).toEqual(
      inOrder([...ids(s1, 0), ...ids(s2, 1)]),
    );
    expect(await listed({ app, status: [] })).toEqual([]);

    const ended = { app, status: ENDED, order: 'newest' as const };
    expect(await listed(ended)).toEqual(inOrder([...ids(s1, 0), ...ids(s2, 1)]).reverse());
    const [last] = await store().jobs.list({ ...ended, limit: 1 });
    expect(await listed({ ...ended, ...(last && { after: last }) })).toHaveLength(1);

    const paged: string[] = [];
    let after: { since: number; jobId: string } | undefined;
    for (;;) {
      const page = await store().jobs.list({ app, limit: 3, ...(after && { after }) });
      paged.push(...page.map(({ jobId }) => jobId));
      after = page.at(-1);
      if (page.length < 3) break;
    }
    expect(paged).toEqual(inOrder([...ids(s1, 1), ...ids(s2, 0), ...ids(bobs, 0, 1)]));
    await expect(store().jobs.list({ limit: 1.5 })).rejects.toThrow('limit');
  });

  test('what has ended is read page by page, the newest first, however much of it there is [job.progress]', async () => {
    const turn = new JobTurn(store());
    await turn.calling(1);
    await turn.openJob(0);
    await turn.endJob(0);
    const { app, userId } = turn.names;
    const first = turn.jobId(0);
    const copies = sql`insert into holdfast.jobs select (jsonb_populate_record(j, jsonb_build_object(
        'job_id', j.job_id || '-' || n, 'since', j.since + n,
        'status', (array['completed', 'failed', 'cancelled', 'timed_out'])[1 + n % 4]))).*
      from holdfast.jobs j cross join generate_series(1, ${MANY}::integer) n where j.job_id = ${first}`;
    await copies.execute(store().db);
    // As PostgreSQL does by itself, in time.
    const count = sql`analyze holdfast.jobs`;
    await count.execute(store().db);
    try {
      const read = await watchingReads(async () => {
        for (const whose of [{}, { app }, { app, userId }]) {
          const rows = await store().jobs.list({ ...whose, status: ENDED, order: 'newest', limit: 25 });
          expect(rows).toHaveLength(25);
          if ('app' in whose) expect(rows[0]?.jobId).toBe(`${first}-${MANY}`);
        }
      });
      expect(Math.max(...read.map((statement) => statement.read.jobs ?? 0))).toBeLessThanOrEqual(MOST_ROWS);
    } finally {
      await sql`delete from holdfast.jobs where job_id like ${`${first}-%`}`.execute(store().db);
      await count.execute(store().db);
    }
  });

  test('no statement of a job reads the session’s other jobs, however often it was planned [store.read]', async () => {
    const long = new JobTurn(store());
    const { names } = long;
    await long.calling(200);
    for (let index = 0; index < 200; index += 1) {
      await long.openJob(index);
      await long.endJob(index);
    }
    await long.end(1, [], INTERRUPTED);
    const watched = await watchingReads(async () => {
      // A plan is made for its parameters five times, then for any.
      for (let nth = 0; nth < 8; nth += 1) {
        const turn = new JobTurn(store(), { names });
        await turn.opened(1, { session: long.session, knownSeq: 1_000 });
        await turn.commit(1, 2, { retryable: true });
        for (const index of [0, 1]) {
          await turn.begin(1, index);
          await turn.openJob(index);
        }
        await turn.park(0);
        await turn.detach(1);
        await turn.settleGoingOn(1);
        await store().jobs.await({ ...turn.newJob(0) });
        await store().jobs.progress({ jobId: turn.jobId(0), value: 0.5 });
        await store().jobs.recordPoll(turn.newJob(0));
        if (nth % 2 === 0) await turn.endJob(0);
        await turn.job(0);
        await store().jobs.delivery(turn.newJob(1));
        await turn.end(1, [{ index: 0, error: 'no' }], INTERRUPTED);
        const next = new AnsweringTurn(store(), { names });
        next.session = long.session;
        await next.opened(1, { session: long.session, knownSeq: 10_000 });
        await next.commit(1, 0);
        const last = new AnsweringTurn(store(), { names });
        await last.peek(1, { message: last.message([answer(1, REPORT.response)]) });
      }
    });
    const greedy = watched.flatMap(({ text, read }) =>
      Object.entries(read)
        // A planner reads all sessions at once where there are as few as here.
        .filter(([table, count]) => table !== 'sessions' && count > MOST_ROWS)
        .map(([table, count]) => `${count} of ${table}: ${text.slice(0, 120)}`),
    );
    expect([...new Set(greedy)]).toEqual([]);
  });
}
