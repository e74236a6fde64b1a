import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { nextFence, USAGE } from '../turns/turn.ts';
import { ADA, AskingTurn, entry } from './asking-turn.ts';

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

export function endedRequestSuite(store: () => PostgresStore): void {
  const statuses = async (turn: AskingTurn, requests: readonly { requestId: string }[]) =>
    await Promise.all(requests.map(async ({ requestId }) => (await turn.row(requestId))?.status));

  test('requests of calls that are settled without them are cancelled, those of others wait [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const requests = [0, 1, 2].map((index) => turn.request(1, index));
    await turn.commitAsking(1, requests);
    const [first] = requests;
    await turn.record(entry(first?.requestId ?? '', 1, 'approved', { by: ADA }));
    await turn.end(1, [
      { index: 0, error: 'cancelled' },
      { index: 1, error: 'cancelled' },
    ]);
    expect(await statuses(turn, requests)).toEqual(['approved', 'cancelled', 'pending']);
    expect((await turn.row(requests[1]?.requestId ?? ''))?.decidedAt).toBeGreaterThan(0);
    await turn.end(1, [], INTERRUPTED);
    expect(await statuses(turn, requests)).toEqual(['approved', 'cancelled', 'cancelled']);
    expect((await store().sessions.readAudit(turn.session)).map(({ kind }) => kind)).toEqual([
      'requested',
      'requested',
      'requested',
      'approved',
      'cancelled',
      'cancelled',
    ]);
    expect(await store().approvals.verifyAudit(turn.session)).toMatchObject({ ok: true });
  });

  test('a turn that was broken off ends its requests when the next one heals it [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const next = new AskingTurn(store(), { names: turn.names, fence: nextFence() });
    await next.opened(1);
    expect(await statuses(turn, [request])).toEqual(['cancelled']);
    expect(await turn.beginAnswered(request, [entry(request.requestId, 1, 'approved')])).toMatchObject({
      kind: 'settled',
      failed: true,
    });
    expect(await statuses(turn, [request])).toEqual(['cancelled']);
  });

  test('a chain that takes a turn over leaves its requests open [confirm.signal]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const { names, messageId } = turn;
    const other = new AskingTurn(store(), { names, messageId, fence: nextFence() });
    expect((await other.open(1)).kind).toBe('recorded');
    expect(await statuses(turn, [request])).toEqual(['pending']);
  });

  test('a rewind ends what was asked; a fork has no requests of its own', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const fork = await store().sessions.fork(turn.names);
    const ofFork = { ...turn.names, sessionId: fork.sessionId };
    expect(await store().approvals.list(ofFork)).toEqual([]);
    await store().sessions.rewind({ ...turn.names, beforeInvocationId: turn.invocationId });
    expect(await statuses(turn, [request])).toEqual(['cancelled']);
  });

  test('a deleted session has no requests, its audit no content; the chain holds [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked({
      hint: 'secret hint',
      payload: 'secret payload',
      args: { a: 'secret' },
    });
    await turn.record(
      entry(request.requestId, 1, 'voted', { by: ADA, confirmed: true, reason: 'secret reason' }),
      entry(request.requestId, 2, 'approved', { args: { a: 'secret edit' } }),
    );
    expect(JSON.stringify(await store().sessions.readAudit(turn.session))).toContain('secret');
    await store().sessions.delete(turn.names);
    expect(await store().approvals.find(request.requestId)).toBeUndefined();
    expect(await store().approvals.list({ app: turn.names.app, status: ['approved', 'pending'] })).toEqual(
      [],
    );
    const rows = await store().sessions.readAudit(turn.session);
    expect(rows.map(({ kind }) => kind)).toEqual(['requested', 'voted', 'approved', 'deleted']);
    expect(JSON.stringify(rows)).not.toContain('secret');
    expect(rows[1]?.facts).toMatchObject({ by: 'ada', verified: true, requestId: request.requestId });
    const { rows: kept } = await sql<{ text: string }>`
      select a::text as text from holdfast.audit a where a.session_id = ${turn.session}`.execute(store().db);
    expect(JSON.stringify(kept)).not.toContain('secret');
    expect(await store().approvals.verifyAudit(turn.session)).toEqual({ ok: true, rows: 4, problems: [] });
  });

  test('the audit shows no argument that its tool withholds [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const some = turn.request(1, 0, { args: { pin: '8264', amount: 1 }, sensitive: ['pin'] });
    const all = turn.request(1, 1, { args: { pin: '8264' }, sensitive: true });
    await turn.commitAsking(1, [some, all]);
    await turn.record(entry(some.requestId, 1, 'approved', { args: { pin: '8265', amount: 2 } }));
    const rows = await store().sessions.readAudit(turn.session);
    expect(rows.map(({ content }) => content)).toMatchObject([
      { args: { pin: '(sensitive)', amount: 1 } },
      { args: '(sensitive)' },
      { before: { pin: '(sensitive)', amount: 1 }, after: { pin: '(sensitive)', amount: 2 } },
    ]);
    expect(await turn.row(some.requestId)).toMatchObject({ editedArgs: { pin: '8265', amount: 2 } });
  });

  test.each([
    ['a fact', `facts = (facts::jsonb || '{"requestId":"another"}')::json`, 'hash'],
    ['a kind', `kind = 'approved'`, 'hash'],
    ['the content', `content = '{"args":{"amount":1}}'`, 'content'],
    ['the content’s being there', 'content = null, salt = null', 'content'],
  ])('who changes %s of the audit is found out [approval.audit]', async (_what, change, problem) => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    await turn.record(entry(requestId, 1, 'refused'), entry(requestId, 2, 'rejected'));
    await sql
      .raw(`update holdfast.audit set ${change} where session_id = '${turn.session}' and n = 1`)
      .execute(store().db);
    expect(await store().approvals.verifyAudit(turn.session)).toMatchObject({
      ok: false,
      rows: 3,
      problems: [{ n: 1, problem: expect.stringContaining(problem) }],
    });
  });

  test('a row that is taken out of the audit is missed [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    await turn.record(entry(requestId, 1, 'refused'), entry(requestId, 2, 'rejected'));
    await sql`delete from holdfast.audit where session_id = ${turn.session} and n = 2`.execute(store().db);
    const { ok, problems } = await store().approvals.verifyAudit(turn.session);
    expect(ok).toBe(false);
    expect(problems.map(({ problem }) => problem).join()).toContain('row 2 is missing');
    expect(await store().approvals.verifyAudit('nobody')).toEqual({ ok: true, rows: 0, problems: [] });
  });
}
