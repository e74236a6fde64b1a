import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import type { TurnQuota } from '../../../../src/store/turns/turn-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { Turn, USAGE } from './turn.ts';

const LAPSE = '11 minutes';

const CUT_OFF = { status: 'interrupted' as const, usage: USAGE };

/** Takes a slot as the first step of a turn does. */
export function turnSlotSuite(store: () => PostgresStore): void {
  const newApp = () => `app-${randomUUID()}`;
  const newTurn = (app: string, userId = 'ada') =>
    new Turn(store(), { names: { app, userId, sessionId: randomUUID() } });
  const take = ({ names, invocationId }: Turn, quota: TurnQuota) =>
    store().turns.takeSlot({ ...names, invocationId, quota });
  const begun = async (app: string, quota: TurnQuota, userId?: string) => {
    const turn = newTurn(app, userId);
    expect(await take(turn, quota)).toEqual({ kind: 'taken' });
    await turn.opened(1);
    return turn;
  };
  /** As if all that has happened in the app had happened that much earlier. */
  const age = async (app: string, interval = LAPSE) => {
    const { db } = store();
    await sql`update holdfast.turn_slots t set seen_at = seen_at - ${interval}::interval from holdfast.sessions s
      where s.name_key = t.name_key and s.app = ${app}`.execute(db);
    await sql`update holdfast.runs r set created_at = r.created_at - ${interval}::interval from holdfast.sessions s
      where s.id = r.session_id and s.app = ${app}`.execute(db);
    await sql`update holdfast.ledger l set started_at = l.started_at - ${interval}::interval,
      settled_at = l.settled_at - ${interval}::interval from holdfast.sessions s
      where s.id = l.session_id and s.app = ${app}`.execute(db);
  };

  test('an app, and a user, run as many turns as they may; an end makes room [limit.fairness]', async () => {
    const app = newApp();
    const quota = { perApp: 3, perUser: 2 };
    const first = await begun(app, quota);
    await begun(app, quota);
    const third = newTurn(app);
    expect(await take(third, quota)).toEqual({ kind: 'full', ofApp: 2, ofUser: 2 });
    await begun(app, quota, 'bob');
    const other = newTurn(app, 'eve');
    expect(await take(other, quota)).toEqual({ kind: 'full', ofApp: 3, ofUser: 0 });
    expect(await take(newTurn(newApp()), quota)).toEqual({ kind: 'taken' });
    await first.commit(1, 0);
    expect(await take(other, quota)).toEqual({ kind: 'taken' });
    expect(await take(third, quota)).toEqual({ kind: 'full', ofApp: 3, ofUser: 1 });
  });

  test('repeating it takes no second slot, and a turn that has ended needs none', async () => {
    const app = newApp();
    const quota = { perApp: 2 };
    const turn = await begun(app, quota);
    for (let again = 0; again < 3; again += 1) expect(await take(turn, quota)).toEqual({ kind: 'taken' });
    await begun(app, quota);
    await turn.end(1, [], CUT_OFF);
    await begun(app, quota);
    expect(await take(turn, quota)).toEqual({ kind: 'taken' });
    expect(await take(newTurn(app), quota)).toEqual({ kind: 'full', ofApp: 2, ofUser: 2 });
  });

  test('a session hands its slot on: the turn after one that died needs no second one', async () => {
    const app = newApp();
    const quota = { perApp: 1 };
    const dead = await begun(app, quota);
    const next = new Turn(store(), { names: dead.names });
    expect(await take(next, quota)).toEqual({ kind: 'taken' });
    await next.opened(1);
    expect(await take(newTurn(app), quota)).toMatchObject({ kind: 'full', ofApp: 1 });
    await next.commit(1, 0);
    expect(await take(newTurn(app), quota)).toEqual({ kind: 'taken' });
  });

  test('a slot lapses 10 minutes after the last sign of its turn, which may go on all the same [limit.fairness]', async () => {
    const app = newApp();
    const quota = { perApp: 2 };
    const dead = await begun(app, quota);
    const working = await begun(app, quota);
    await working.commit(1, 1);
    await age(app);
    await working.begin(1, 0);
    await begun(app, quota);
    expect(await take(newTurn(app), quota)).toMatchObject({ kind: 'full', ofApp: 2 });
    // It was not dead after all: nobody stops it, and it takes nobody's place.
    expect(await take(dead, quota)).toEqual({ kind: 'taken' });
    expect(await take(newTurn(app), quota)).toMatchObject({ kind: 'full', ofApp: 2 });
    await working.settle(1, 0, {});
    await working.opened(2);
    await working.commit(2, 0);
    expect(await take(dead, quota)).toEqual({ kind: 'taken' });
    expect(await take(newTurn(app), quota)).toMatchObject({ kind: 'full', ofApp: 2 });
  });

  test('a slot whose turn never began lapses, and that of a deleted session is gone', async () => {
    const app = newApp();
    const quota = { perUser: 1 };
    const never = newTurn(app);
    await take(never, quota);
    expect(await take(newTurn(app), quota)).toMatchObject({ kind: 'full' });
    await sql`update holdfast.turn_slots set seen_at = seen_at - ${LAPSE}::interval
      where invocation_id = ${never.invocationId}`.execute(store().db);
    const next = await begun(app, quota);
    await store().sessions.delete({ ...next.names });
    expect(await take(newTurn(app), quota)).toEqual({ kind: 'taken' });
  });

  test('100 turns that begin at once: as many take a slot as there are [limit.fairness]', async () => {
    const app = newApp();
    const quota = { perApp: 7, perUser: 3 };
    const turns = Array.from({ length: 100 }, (_, nth) => newTurn(app, `user-${nth % 5}`));
    const taken = await Promise.all(turns.map((turn) => take(turn, quota)));
    const users = turns.filter((_, nth) => taken[nth]?.kind === 'taken').map(({ names }) => names.userId);
    expect(users).toHaveLength(7);
    for (const user of users) expect(users.filter((other) => other === user).length).toBeLessThanOrEqual(3);
  });

  test('whatever turns do, and however they die, no more hold a slot than may, and none is lost', async () => {
    const operation = fc.record({
      at: fc.nat(7),
      does: fc.constantFrom('begin', 'begin', 'step', 'end', 'cut off', 'die', 'time'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const app = newApp();
        const quota = { perApp: 3, perUser: 2 };
        const names: SessionNames[] = Array.from({ length: 8 }, (_, nth) => ({
          app,
          userId: `user-${nth % 3}`,
          sessionId: `s${nth}`,
        }));
        const running = new Map<number, { turn: Turn; step: number }>();
        const held = async () =>
          (
            await sql<{ user_key: string }>`select t.user_key from holdfast.turn_slots t
              join holdfast.sessions s on s.name_key = t.name_key where s.app = ${app} and not t.lapsed`.execute(
              store().db,
            )
          ).rows.map(({ user_key }) => user_key);
        for (const { at, does } of operations) {
          const now = running.get(at);
          if (does === 'time') await age(app);
          if (does === 'die') running.delete(at);
          if (does === 'begin' && now === undefined) {
            const turn = new Turn(store(), { names: names[at] as SessionNames });
            if ((await take(turn, quota)).kind === 'taken') {
              await turn.opened(1);
              running.set(at, { turn, step: 1 });
            }
          }
          if (now !== undefined && does === 'step') {
            await now.turn.commit(now.step, 1);
            await now.turn.settle(now.step, 0, {});
            await now.turn.opened(now.step + 1);
            now.step += 1;
          }
          if (now !== undefined && (does === 'end' || does === 'cut off')) {
            if (does === 'end') await now.turn.commit(now.step, 0);
            else {
              await now.turn.end(now.step, [], CUT_OFF);
            }
            running.delete(at);
          }
          const users = await held();
          expect(users.length).toBeLessThanOrEqual(3);
          for (const user of users) {
            expect(users.filter((other) => other === user).length).toBeLessThanOrEqual(2);
          }
        }
        for (const { turn, step } of running.values()) await turn.commit(step, 0);
        await age(app);
        for (const userId of ['eve', 'eve', 'joe']) await begun(app, quota, userId);
      }),
      { numRuns: inTier(5, 15) },
    );
  });
}
