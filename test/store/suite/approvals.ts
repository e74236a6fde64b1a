import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { ADA, ARGS, AskingTurn, BOB, entry } from './asking-turn.ts';

export function approvalSuite(store: () => PostgresStore): void {
  test('a request is kept with its step, its event behind the model’s [confirm.events]', async () => {
    const turn = new AskingTurn(store());
    const before = Date.now();
    const request = await turn.asked({
      payload: { limit: 50 },
      terms: { approvers: ['ada'], quorum: 2, expiresIn: 60_000 },
      sensitive: ['to'],
    });
    const row = await turn.row(request.requestId);
    expect(row).toEqual({
      ...request,
      ...turn.names,
      session: turn.session,
      runKey: turn.invocationId,
      invocationId: turn.invocationId,
      status: 'pending',
      since: expect.any(Number),
      until: (row?.since ?? 0) + 60_000,
      votes: [],
      history: [],
    });
    expect(row?.since).toBeGreaterThanOrEqual(before - 1_000);
    expect(await store().findApproval(request.requestId)).toEqual(row);
    expect((await turn.events()).map(({ kind }) => kind)).toEqual(['message', 'model', 'request']);
  });

  test('an approved call begins once, with its request and the answer [confirm.once]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const approved = entry(request.requestId, 1, 'approved', { by: ADA, payload: { limit: 40 } });
    const begun = await turn.beginAnswered(request, [approved]);
    expect(begun).toMatchObject({
      kind: 'started',
      attempt: 1,
      unknown: false,
      names: turn.names,
      requests: [
        {
          requestId: request.requestId,
          status: 'approved',
          decidedAt: approved.at,
          answerPayload: { limit: 40 },
          votes: [{ by: ADA, confirmed: true, at: approved.at }],
        },
      ],
    });
    expect(await turn.beginAnswered(request, [approved])).toMatchObject({
      kind: 'started',
      attempt: 2,
      unknown: true,
    });
    await turn.settle(1, 0, { ok: true });
    expect(await turn.beginAnswered(request, [approved])).toEqual({
      kind: 'settled',
      response: { ok: true },
      failed: false,
      actions: {},
    });
    expect((await store().readAudit(turn.session)).map(({ kind }) => kind)).toEqual([
      'requested',
      'approved',
    ]);
    expect(await store().verifyAudit(turn.session)).toEqual({ ok: true, rows: 2, problems: [] });
  });

  test('a call that asks while it runs waits, and its next attempt is no second one [confirm.inside]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const first = turn.request(1, 0, { kind: 'input' });
    expect(await turn.suspend(first, 1)).toBe(true);
    expect(await turn.suspend(first, 1)).toBe(true);
    const answered = entry(first.requestId, 1, 'answered', { by: BOB, response: null });
    expect(await turn.beginAnswered(first, [answered])).toMatchObject({
      kind: 'started',
      attempt: 2,
      unknown: false,
      requests: [{ status: 'answered', response: null }],
    });
    const second = turn.request(1, 0, { kind: 'credential' }, 2);
    expect(await turn.suspend(second, 1)).toBe(false);
    expect(await turn.suspend(second, 2)).toBe(true);
    const given = entry(second.requestId, 1, 'answered', { credentialRef: 'cr-1' });
    expect(await turn.beginAnswered(second, [given])).toMatchObject({
      attempt: 3,
      unknown: false,
      requests: [{ requestId: first.requestId }, { requestId: second.requestId, credentialRef: 'cr-1' }],
    });
    expect((await turn.events()).map(({ kind }) => kind)).toEqual(['message', 'model', 'request', 'request']);
  });

  test('what was edited is kept beside what was shown [approval.edit]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    const args = { to: 'ada', amount: 30 };
    await turn.record(entry(request.requestId, 1, 'voted', { by: ADA, confirmed: true, args }));
    expect((await turn.row(request.requestId))?.editedArgs).toBeUndefined();
    await turn.record(entry(request.requestId, 2, 'approved'));
    expect(await turn.row(request.requestId)).toMatchObject({
      args: ARGS,
      editedArgs: args,
      votes: [{ by: ADA }],
    });
    const audit = await store().readAudit(turn.session);
    expect(audit[1]).toMatchObject({
      kind: 'voted',
      facts: { by: 'ada', verified: true, channel: 'cli' },
      content: { before: ARGS, after: args },
    });
  });
}
