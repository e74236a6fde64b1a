import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import type { IdleSession } from '../../../../src/store/sessions/session-store.ts';
import { newNames, Turn } from '../turns/turn.ts';

export function retentionSuite(store: () => PostgresStore): void {
  async function turn(names: SessionNames) {
    const made = new Turn(store(), { names });
    await made.opened(1);
    await made.commit(1, 0);
  }

  async function setUpdated(names: SessionNames, at: string) {
    await sql`update holdfast.sessions set updated_at = ${at} where app = ${names.app} and name = ${names.sessionId}`.execute(
      store().db,
    );
  }

  test('sessions that nothing was written to since a time, the last made first [session.retention]', async () => {
    const names = newNames();
    for (const [sessionId, at] of [
      ['parent', '2019-01-01'],
      ['older', '2020-01-01'],
      ['old', '2020-01-02'],
      ['young', '2020-01-03'],
    ] as const) {
      await turn({ ...names, sessionId });
      await setUpdated({ ...names, sessionId }, `${at} 00:00:00Z`);
    }
    const fork = { ...names, sessionId: 'fork' };
    await store().sessions.fork({ ...names, sessionId: 'parent', to: 'fork' });
    await turn({ ...newNames(), sessionId: 'elsewhere' });
    const idle = async (before: string, limit = 10) =>
      (await store().sessions.idleSince(names.app, Date.parse(before), limit)).map(
        ({ sessionId }) => sessionId,
      );
    expect(await idle('2020-01-03T00:00:00Z')).toEqual(['old', 'older']);
    expect(await idle('2020-01-03T00:00:00.001Z')).toEqual(['young', 'old', 'older']);
    expect(await idle('2021-01-01T00:00:00Z', 1)).toEqual(['young']);
    expect(await idle('2019-06-01T00:00:00Z')).toEqual([]);
    await setUpdated(fork, '2019-02-01 00:00:00Z');
    expect(await idle('2019-06-01T00:00:00Z')).toEqual(['fork', 'parent']);
    await store().sessions.delete(fork);
    expect(await idle('2019-06-01T00:00:00Z')).toEqual(['parent']);
    const read = (before: number, limit: number, after?: { session: string; createdAt: number }) =>
      store().sessions.idleSince(names.app, before, limit, after);
    await expect(read(Number.NaN, 1)).rejects.toThrow('before: ');
    await expect(read(0, 1.5)).rejects.toThrow('limit: ');
    await expect(read(0, 1, { session: '', createdAt: Number.NaN })).rejects.toThrow('after.createdAt: ');
  });

  test('pages of idle sessions have each of them once, whatever happens in between [session.retention]', async () => {
    const names = newNames();
    const ids = Array.from({ length: 12 }, (_, n) => `s${String(n).padStart(2, '0')}`);
    for (const sessionId of ids) await store().sessions.create({ ...names, sessionId });
    // Made at the same microsecond.
    await sql`update holdfast.sessions set created_at = '2020-01-01 00:00:00.123457Z'
      where app = ${names.app} and name between 's03' and 's08'`.execute(store().db);
    const before = Date.now() + 60_000;
    const found: string[] = [];
    let after: IdleSession | undefined;
    for (;;) {
      const page = await store().sessions.idleSince(names.app, before, 2, after);
      after = page.at(-1);
      if (after === undefined) break;
      found.push(...page.map(({ sessionId }) => sessionId));
      await setUpdated({ ...names, sessionId: (page[0] as IdleSession).sessionId }, 'now');
      await store().sessions.delete({ ...names, sessionId: after.sessionId });
    }
    expect(found.sort()).toEqual(ids);
  });

  test('a session that came into use again, or a fork of it, is not deleted as idle [session.retention]', async () => {
    const names = newNames();
    const fork = { ...names, sessionId: 'fork' };
    await turn(names);
    await store().sessions.fork({ ...names, to: 'fork' });
    const idleSince = Date.parse('2020-01-02');
    const remove = (withForks = true) => store().sessions.delete({ ...names, withForks, idleSince });
    await setUpdated(fork, '2020-01-01');
    await setUpdated(names, '2020-01-02 00:00:00Z');
    expect(await remove()).toEqual([]);
    expect(await remove(false)).toEqual([]);
    await setUpdated(names, '2020-01-01');
    await turn(fork);
    expect(await remove()).toEqual([]);
    await expect(remove(false)).rejects.toMatchObject({ code: 'HOLDFAST_SESSION_HAS_FORKS' });
    expect(await store().sessions.readEvents(fork)).toHaveLength(4);
    await setUpdated(fork, '2020-01-01');
    expect(await remove()).toEqual([names, fork]);
    await expect(store().sessions.delete({ ...names, idleSince: Number.NaN })).rejects.toThrow('idleSince: ');
  });
}
