import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../../src/protocol/gate.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
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
    expect(await store().approvals.find(request.requestId)).toEqual(row);
    expect((await turn.events()).map(({ kind }) => kind)).toEqual(['message', 'model', 'request']);
  });

  test('a step that is committed again asks nobody twice [confirm.once]', async () => {
    const turn = new AskingTurn(store());
    const request = await turn.asked();
    await turn.record(entry(request.requestId, 1, 'rejected'));
    const again = await turn.commitAsking(1, [turn.request(1, 0, { hint: 'another' })]);
    expect(again.kind).toBe('recorded');
    expect(await turn.row(request.requestId)).toMatchObject({ status: 'rejected', hint: request.hint });
    expect((await store().sessions.readAudit(turn.session)).map(({ kind }) => kind)).toEqual([
      'requested',
      'rejected',
    ]);
  });

  test('an unknown request is none, and what happens to it is behind history', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    expect(await turn.row(`${requestId}1`)).toBeUndefined();
    expect(await store().approvals.findRequest('nobody', requestId)).toBeUndefined();
    expect(await store().approvals.find('rq-\0')).toBeUndefined();
    const unknown = entry(`${requestId}1`, 1, 'approved');
    await expect(turn.record(unknown)).rejects.toMatchObject({ code: 'HOLDFAST_STORE_BEHIND_HISTORY' });
    await expect(
      store().approvals.recordEntries({ session: 'nobody', entries: [entry(requestId, 1, 'approved')] }),
    ).rejects.toMatchObject({ code: 'HOLDFAST_STORE_BEHIND_HISTORY' });
  });

  test('votes are of different people, and are taken back [approval.quorum]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked({ terms: { quorum: 2 } });
    const byAda = entry(requestId, 1, 'voted', { by: ADA, confirmed: true });
    const byBob = entry(requestId, 3, 'voted', { by: BOB, confirmed: true });
    await turn.record(byAda, entry(requestId, 2, 'voted', { by: ADA, confirmed: true }), byBob);
    const vote = ({ by, confirmed, at }: AuditEntry) => ({ by, confirmed, at });
    expect((await turn.row(requestId))?.votes).toEqual([vote(byAda), vote(byBob)]);
    await turn.record(entry(requestId, 4, 'withdrawn', { by: ADA, confirmed: true }));
    expect((await turn.row(requestId))?.votes).toEqual([vote(byBob)]);
    const later = entry(requestId, 5, 'voted', { by: ADA, confirmed: true });
    await turn.record(later, entry(requestId, 6, 'approved', { by: ADA }));
    expect(await turn.row(requestId)).toMatchObject({
      status: 'approved',
      votes: [vote(byBob), vote(later)],
      history: [1, 2, 3, 4, 5, 6].map((n) => ({ entryId: `${requestId}/${n}` })),
    });
  });

  test('an attestation is one vote, also once that was taken back [approval.quorum]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked({ terms: { quorum: 2 } });
    const by = { ...ADA, attestation: 'digest' };
    await turn.record(
      entry(requestId, 1, 'voted', { by, confirmed: true }),
      entry(requestId, 2, 'withdrawn', { by: ADA, confirmed: true }),
      entry(requestId, 3, 'voted', { by, confirmed: true }),
    );
    expect((await turn.row(requestId))?.votes).toEqual([]);
    await turn.record(
      entry(requestId, 4, 'voted', { by: { ...ADA, attestation: 'another' }, confirmed: true }),
    );
    expect((await turn.row(requestId))?.votes).toMatchObject([{ by: { attestation: 'another' } }]);
  });

  test('what is recorded again changes nothing; after a reset it is another entry [approval.audit]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    const vote = entry(requestId, 1, 'voted', { by: ADA, confirmed: true });
    const approved = entry(requestId, 2, 'approved', { by: ADA });
    await Promise.all([turn.record(vote), turn.record(vote, approved), turn.record(vote)]);
    await turn.record(approved);
    const row = await turn.row(requestId);
    expect(row?.history).toHaveLength(2);
    await turn.record({ ...approved, at: approved.at + 60_000, kind: 'rejected' });
    expect(await turn.row(requestId)).toEqual(row);
    expect((await store().sessions.readAudit(turn.session)).map(({ kind }) => kind)).toEqual([
      'requested',
      'voted',
      'approved',
      'rejected',
    ]);
    expect(await store().approvals.verifyAudit(turn.session)).toMatchObject({ ok: true, rows: 4 });
  });

  test('decisions that don’t count are remembered as far as they are few [approval.approvers]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    await turn.record(entry(requestId, 1, 'voted', { by: ADA, confirmed: true }));
    const refused = Array.from({ length: 30 }, (_, nth) =>
      entry(requestId, nth + 2, 'refused', { reason: `no ${nth}`, confirmed: true }),
    );
    await turn.record(...refused);
    await turn.record(...refused);
    const row = await turn.row(requestId);
    expect(row).toMatchObject({ status: 'pending', votes: [{ by: ADA }] });
    expect(row?.history.map(({ kind, reason }) => reason ?? kind)).toEqual([
      'voted',
      ...refused.slice(10).map(({ reason }) => reason),
    ]);
    expect(await store().sessions.readAudit(turn.session)).toHaveLength(32);
  });

  test('those who are asked next have as much time again [approval.expiry]', async () => {
    const terms = { expiresIn: 1_000, onExpiry: 'escalate' as const };
    const overdue = new AskingTurn(store());
    const late = await overdue.asked({ terms });
    const expired = entry(late.requestId, 1, 'escalated', { at: 5_000_000 });
    await overdue.record(expired);
    expect(await overdue.row(late.requestId)).toMatchObject({
      status: 'pending',
      escalatedAt: 5_000_000,
      until: 5_001_000,
    });
    const early = new AskingTurn(store());
    const soon = await early.asked({ terms: { ...terms, escalateAfter: 100 } });
    const until = (await early.row(soon.requestId))?.until;
    await early.record(entry(soon.requestId, 1, 'escalated', { at: 5_000_000 }));
    expect((await early.row(soon.requestId))?.until).toBe(until);
    await early.record(entry(soon.requestId, 2, 'escalated', { at: 6_000_000 }));
    expect(await early.row(soon.requestId)).toMatchObject({ escalatedAt: 5_000_000, until: 6_001_000 });
  });

  test('what was edited is kept beside what was shown [approval.edit]', async () => {
    const turn = new AskingTurn(store());
    const { requestId } = await turn.asked();
    const args = { to: 'ada', amount: 30 };
    await turn.record(entry(requestId, 1, 'voted', { by: ADA, confirmed: true, args }));
    expect((await turn.row(requestId))?.editedArgs).toBeUndefined();
    await turn.record(entry(requestId, 2, 'approved', { by: ADA, args, payload: { note: 1 } }));
    expect(await turn.row(requestId)).toMatchObject({
      args: ARGS,
      editedArgs: args,
      answerPayload: { note: 1 },
      votes: [{ by: ADA }],
    });
    const [, voted, approved] = await store().sessions.readAudit(turn.session);
    expect(voted).toMatchObject({
      kind: 'voted',
      facts: { by: 'ada', verified: true, channel: 'cli', confirmed: true },
      content: { before: ARGS, after: args },
    });
    expect(approved).toMatchObject({ content: { before: ARGS, after: args, payload: { note: 1 } } });
  });

  test('the requester is who has sent the message, also of a queued one [approval.approvers]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1, { requester: 'ada@example.com' });
    // Whoever opens it again has nothing to say about it.
    await turn.opened(1, { requester: 'bob@example.com' });
    const request = turn.request(1, 0);
    await turn.commitAsking(1, [request]);
    expect((await turn.row(request.requestId))?.requester).toBe('ada@example.com');

    const queued = new AskingTurn(store(), { names: turn.names });
    await store().messages.keep({
      ...turn.names,
      startedAt: turn.fence.startedAt,
      messages: [
        {
          messageId: queued.messageId,
          invocationId: queued.invocationId,
          place: 1,
          digest: 'digest',
          bytes: 2,
          message: 'hi',
          requester: 'carol',
        },
      ],
    });
    await queued.opened(1, { fromInbox: true });
    const other = queued.request(1, 0);
    await queued.commitAsking(1, [other]);
    expect((await queued.row(other.requestId))?.requester).toBe('carol');

    const unverified = new AskingTurn(store());
    const third = await unverified.asked();
    expect(await unverified.row(third.requestId)).not.toHaveProperty('requester');
  });
}
