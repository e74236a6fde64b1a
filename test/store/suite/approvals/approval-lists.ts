import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { NewRequest } from '../../../../src/store/approvals/approval-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { watchingReads } from '../statements.ts';
import { newNames, USAGE } from '../turns/turn.ts';
import { ADA, AskingTurn, entry } from './asking-turn.ts';

/** Rows that have ended. */
const MANY = inTier(2_000, 10_000);

/** Of one table, for one statement. */
const MOST_ROWS = 60;

const ENDED = ['approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function approvalListSuite(store: () => PostgresStore): void {
  test('requests are listed by app, user, session, tree and status, oldest first, page by page [approval.list]', async () => {
    const { app } = newNames();
    const turnOf = (userId: string, sessionId: string, ofApp = app) =>
      new AskingTurn(store(), { names: { app: ofApp, userId, sessionId } });
    const turns = [
      turnOf('ada', 's1'),
      turnOf('ada', 's2'),
      turnOf('bob', 's1'),
      turnOf('ada', 's1', `${app}-2`),
    ];
    const ids: string[] = [];
    for (const turn of turns) {
      await turn.opened(1);
      const requests = [0, 1].map((index) =>
        turn.request(1, index, { rootWorkflowId: `${turn.names.app}/${turn.names.userId}` }),
      );
      await turn.commitAsking(1, requests);
      ids.push(...requests.map(({ requestId }) => requestId));
    }
    const [a = '', b = '', c = '', d = '', e = '', f = '', g = '', h = ''] = ids;
    const listed = async (list: Parameters<PostgresStore['approvals']['list']>[0]) =>
      (await store().approvals.list(list)).map(({ requestId }) => requestId);
    expect(await listed({ app })).toEqual([a, b, c, d, e, f]);
    expect(await listed({ app, userId: 'ada' })).toEqual([a, b, c, d]);
    expect(await listed({ app, userId: 'ada', sessionId: 's2' })).toEqual([c, d]);
    expect(await listed({ app, sessionId: 's1' })).toEqual([a, b, e, f]);
    expect(await listed({ rootWorkflowId: `${app}-2/ada` })).toEqual([g, h]);
    expect(await listed({ rootWorkflowId: `${app}/ada` })).toEqual([a, b, c, d]);

    await turns[0]?.record(entry(a, 1, 'approved'));
    await turns[1]?.record(entry(c, 1, 'rejected'));
    expect(await listed({ app, userId: 'ada' })).toEqual([b, d]);
    expect(await listed({ app, status: ['approved'] })).toEqual([a]);
    expect(await listed({ app, status: ['rejected', 'approved', 'pending'] })).toEqual([a, b, c, d, e, f]);
    expect(await listed({ app, status: [] })).toEqual([]);
    expect(await listed({ app, status: ['approved', 'rejected'], order: 'newest' })).toEqual([c, a]);
    expect(await listed({ app, kind: 'confirmation' })).toEqual([b, d, e, f]);
    expect(await listed({ app, kind: 'input' })).toEqual([]);
    const everywhere = await listed({ limit: 1_000 });
    expect(everywhere).toEqual(expect.arrayContaining([b, d, e, f, g, h]));

    const paged: string[] = [];
    let after: { since: number; requestId: string } | undefined;
    for (;;) {
      const page = await store().approvals.list({ app, limit: 3, ...(after && { after }) });
      paged.push(...page.map(({ requestId }) => requestId));
      after = page.at(-1);
      if (page.length < 3) break;
    }
    expect(paged).toEqual([b, d, e, f]);
    const newest = await store().approvals.list({ app, order: 'newest', limit: 3 });
    expect(newest.map(({ requestId }) => requestId)).toEqual([f, e, d]);
    const [, , last] = newest;
    expect(await listed({ app, order: 'newest', ...(last && { after: last }) })).toEqual([b]);
    await expect(store().approvals.list({ limit: 1.5 })).rejects.toThrow('limit');
  });

  test('what was decided is read page by page, the newest first, however much of it there is [approval.list]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const requests = [0, 1].map((index) => turn.request(1, index));
    await turn.commitAsking(1, requests);
    const [decided = '', pending = ''] = requests.map(({ requestId }) => requestId);
    await turn.record(entry(decided, 1, 'rejected'));
    const { app, userId } = turn.names;
    const copies = sql`insert into holdfast.approvals select (jsonb_populate_record(a, jsonb_build_object(
        'request_id', a.request_id || '-' || n, 'since', a.since + n,
        'status', (array['approved', 'rejected', 'answered', 'expired', 'cancelled'])[1 + n % 5]))).*
      from holdfast.approvals a cross join generate_series(1, ${MANY}::integer) n where a.request_id = ${decided}`;
    await copies.execute(store().db);
    // As PostgreSQL does by itself, in time.
    const count = sql`analyze holdfast.approvals`;
    await count.execute(store().db);
    try {
      const read = await watchingReads(async () => {
        for (const whose of [{}, { app }, { app, userId }]) {
          let after: { since: number; requestId: string } | undefined;
          for (const page of [0, 1, 2]) {
            const list = { ...whose, status: ENDED, order: 'newest' as const, limit: 25 };
            const rows = await store().approvals.list({ ...list, ...(after && { after }) });
            const ids = rows.map(({ requestId }) => requestId);
            if ('app' in whose) {
              expect(ids).toEqual(ids.map((_id, n) => `${decided}-${MANY - page * 25 - n}`));
            }
            expect(ids).not.toContain(pending);
            after = rows.at(-1);
          }
        }
      });
      const most = read.map((statement) => statement.read.approvals ?? 0);
      expect(Math.max(...most)).toBeLessThanOrEqual(MOST_ROWS);
      expect(most).toHaveLength(9);
    } finally {
      await sql`delete from holdfast.approvals where request_id like ${`${decided}-%`}`.execute(store().db);
      await count.execute(store().db);
    }
  });

  test('no statement of a request reads the session’s other requests, however often it was planned [store.read]', async () => {
    const long = new AskingTurn(store());
    const { names } = long;
    await long.opened(1);
    const many = Array.from({ length: 200 }, (_, index) => long.request(1, index));
    await long.commitAsking(1, many);
    await long.record(...many.map(({ requestId }) => entry(requestId, 1, 'approved')));
    await long.end(1, [], INTERRUPTED);
    const watched = await watchingReads(async () => {
      // A plan is made for its parameters five times, then for any.
      for (let nth = 0; nth < 8; nth += 1) {
        const turn = new AskingTurn(store(), { names });
        await turn.opened(1, { session: long.session, knownSeq: 1_000 });
        const requests = [0, 1].map((index) => turn.request(1, index));
        const [first, second] = requests as [NewRequest, NewRequest];
        await turn.commitAsking(1, requests);
        await turn.record(entry(first.requestId, 1, 'voted', { by: ADA, confirmed: true }));
        await turn.beginAnswered(first, [entry(first.requestId, 2, 'approved', { by: ADA })]);
        await turn.suspend(turn.request(1, 0, {}, 2), 1);
        await turn.row(second.requestId);
        await store().approvals.find(second.requestId);
        await store().approvals.list({ app: names.app });
        await store().approvals.list(names);
        await turn.end(1, [{ index: 1, error: 'no' }], INTERRUPTED);
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
