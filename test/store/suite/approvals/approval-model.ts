import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApprovalRow } from '../../../../src/contract/requests.ts';
import type { AuditEntry } from '../../../../src/protocol/gate.ts';
import type { BegunAnsweredCall, NewRequest } from '../../../../src/store/approvals/approval-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { USAGE } from '../turns/turn.ts';
import { ApprovalModel, type Operation, operation } from './approval-operations.ts';
import { AskingTurn, entry } from './asking-turn.ts';

const INTERRUPTED = { status: 'interrupted' as const, usage: USAGE };

/** A turn whose first call waits for an approval and whose second one may ask while it runs. */
class Play {
  readonly turn: AskingTurn;
  readonly made: NewRequest[] = [];
  readonly entries: AuditEntry[] = [];
  #nth = 0;

  constructor(store: PostgresStore) {
    this.turn = new AskingTurn(store);
  }

  async begin(): Promise<void> {
    await this.turn.opened(1);
    const request = this.turn.request(1, 0);
    await this.turn.commitAsking(1, [request], { calls: 2 });
    this.made.push(request);
  }

  requestOf(place: number): NewRequest {
    return this.made[place % this.made.length] as NewRequest;
  }

  entryOf({ requestId }: NewRequest, kind: AuditEntry['kind'], more: Partial<AuditEntry> = {}) {
    this.#nth += 1;
    const made = entry(requestId, this.#nth, kind, more);
    this.entries.push(made);
    return made;
  }

  fail(call: number, attempt: number) {
    const { session, store } = this.turn;
    return store.turns.recordCallFailure({
      session,
      callKey: this.turn.callKey(1, call),
      error: 'no',
      counts: false,
      attempt,
    });
  }
}

export function approvalModelSuite(store: () => PostgresStore): void {
  test('a call starts once for an approval, and what has ended stays, whatever comes in between [confirm.once]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
        const play = new Play(store());
        const model = new ApprovalModel();
        await play.begin();
        model.ask(play.requestOf(0).requestId, 0);
        const ended = new Map<string, ApprovalRow>();
        for (const one of operations) {
          await perform(play, model, one);
          for (const { requestId } of play.made) {
            const row = (await play.turn.row(requestId)) as ApprovalRow;
            const { status, votes } = model.requestOf(requestId);
            expect([row.status, row.votes.map(({ by }) => by.principal)]).toEqual([status, votes]);
            if (row.status === 'pending') continue;
            expect(row).toEqual(ended.get(requestId) ?? row);
            ended.set(requestId, row);
          }
        }
        const audited = await store().approvals.verifyAudit(play.turn.session);
        expect(audited).toEqual({ ok: true, rows: model.audited, problems: [] });
      }),
      { numRuns: inTier(6, 60) },
    );
  });

  test('what happens at the same time is one story: one start, one end, one chain [confirm.once]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: 12 }), async (operations) => {
        const play = new Play(store());
        await play.begin();
        const begun = await Promise.all(operations.map((one) => attempted(play, one)));
        const { session } = play.turn;
        const starts = begun.filter((one) => one?.kind === 'started' && !one.unknown);
        expect(starts.length).toBeLessThanOrEqual(1);
        const row = (await play.turn.row(play.requestOf(0).requestId)) as ApprovalRow;
        for (const one of begun) {
          if (one?.kind !== 'started') continue;
          const [answered] = one.requests;
          expect(answered).toEqual(row);
        }
        const rows = await store().sessions.readAudit(session);
        const said = rows.map(({ facts }) => `${facts.entryId}@${facts.at}`);
        for (const { entryId, at } of play.entries) {
          expect(said.filter((one) => one === `${entryId}@${at}`)).toHaveLength(1);
        }
        expect(await store().approvals.verifyAudit(session)).toMatchObject({ ok: true });
      }),
      { numRuns: inTier(5, 40) },
    );
  });
}

/** Does it, and compares the answer with the model's. */
async function perform(play: Play, model: ApprovalModel, one: Operation): Promise<void> {
  const { turn } = play;
  switch (one.type) {
    case 'entry': {
      const request = play.requestOf(one.request);
      const made = play.entryOf(request, one.kind, { by: one.by, confirmed: true });
      model.record(request.requestId, one.kind, one.by.principal);
      await turn.record(made, ...(one.again ? [made] : []));
      return;
    }
    case 'answered': {
      const request = play.requestOf(one.request);
      const entries = one.kind === undefined ? [] : [play.entryOf(request, one.kind)];
      if (one.kind !== undefined) model.record(request.requestId, one.kind, undefined);
      const expected = model.beginAnswered(request.requestId, one.kind);
      expect(await turn.beginAnswered(request, entries)).toMatchObject(expected);
      return;
    }
    case 'begin': {
      expect(await turn.begin(1, one.call)).toMatchObject(model.begin(one.call));
      return;
    }
    case 'suspend': {
      const attempt = model.callOf(one.call).attempts - one.back;
      if (attempt < 1) return;
      const request = turn.request(1, one.call, {}, one.n);
      const isNew = !model.requests.has(request.requestId);
      const suspended = model.suspend(one.call, attempt, request.requestId);
      expect(await turn.suspend(request, attempt)).toBe(suspended);
      if (suspended && isNew) play.made.push(request);
      return;
    }
    case 'fail': {
      const attempt = model.callOf(one.call).attempts - one.back;
      if (attempt < 1) return;
      model.fail(one.call, attempt);
      await play.fail(one.call, attempt);
      return;
    }
    case 'settle':
      model.callOf(one.call).settled = true;
      await turn.settle(1, one.call, { ok: true });
      return;
    case 'cancel':
      model.cancel(one.call);
      await turn.end(1, [{ index: one.call, error: 'cancelled' }]);
      return;
    case 'end':
      model.end();
      await turn.end(1, [], INTERRUPTED);
  }
}

/** Does it to the first call, together with others; what it answers depends on their order. */
async function attempted(play: Play, one: Operation): Promise<BegunAnsweredCall | undefined> {
  const { turn } = play;
  const request = play.requestOf(0);
  switch (one.type) {
    case 'entry': {
      const made = play.entryOf(request, one.kind, { by: one.by, confirmed: true });
      await Promise.all([turn.record(made), ...(one.again ? [turn.record(made)] : [])]);
      return undefined;
    }
    case 'answered': {
      const entries = one.kind === undefined ? [] : [play.entryOf(request, one.kind)];
      return await turn.beginAnswered(request, entries);
    }
    case 'settle':
      await turn.settle(1, 0, { ok: true });
      return undefined;
    case 'cancel':
      await turn.end(1, [{ index: 0, error: 'cancelled' }]);
      return undefined;
    case 'end':
      await turn.end(1, [], INTERRUPTED);
      return undefined;
    default:
      // A call that waits for its approval has no attempt that could do it.
      return undefined;
  }
}
