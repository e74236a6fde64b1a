import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { ListedSessions } from '../../../../src/contract/sessions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { newNames, Turn } from '../turns/turn.ts';

const HOSTILE = [
  'a/b',
  '../../..',
  'a%2Fb',
  '%',
  '_',
  's%',
  'S1',
  "'; drop table holdfast.sessions; --",
  "1' or '1'='1",
  '$1',
  '\\',
  '"quoted"',
  'app:x',
  'HoldfastStatus = "running" OR true',
  '\u{1f600}\u{1f469}\u200d\u{1f680}',
  'e\u0301',
  '\u00e9',
  ' ',
  '__proto__',
  's'.repeat(10_000),
  `${'s'.repeat(9_999)}t`,
];

export function sessionSuite(store: () => PostgresStore): void {
  async function turn(names: SessionNames, stateDelta: Record<string, unknown> = {}) {
    const made = new Turn(store(), { names });
    await made.opened(1, { stateDelta });
    await made.commit(1, 0);
    return made;
  }

  const idsOf = async (list: Parameters<PostgresStore['sessions']['list']>[0]) =>
    (await store().sessions.list(list)).sessions.map(({ sessionId }) => sessionId);

  async function setListed(names: SessionNames, at: string) {
    await sql`update holdfast.sessions set listed_at = ${at} where app = ${names.app} and name = ${names.sessionId}`.execute(
      store().db,
    );
  }

  test('a session is created once, with its state by prefix [session.create]', async () => {
    const names = newNames();
    const state = { own: { a: 1 }, 'app:x': 1, 'user:y': [2], 'temp:z': 3, '': null };
    const created = await store().sessions.create({ ...names, state });
    const { 'temp:z': _temp, ...kept } = state;
    const now = expect.closeTo(Date.now(), -5);
    expect(created).toEqual({
      ...names,
      session: expect.stringMatching(/^[\w-]{22}$/),
      seq: 0,
      createdAt: now,
      updatedAt: now,
      usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
      state: kept,
      events: [],
    });
    expect(await store().sessions.get(names)).toEqual(created);
    await expect(store().sessions.create({ ...names, state: { own: 2, 'app:x': 2 } })).rejects.toMatchObject({
      code: 'HOLDFAST_SESSION_EXISTS',
      retryable: false,
      message: expect.stringContaining('"s1"'),
    });
    expect((await store().sessions.get(names))?.state).toEqual(kept);

    const sibling = await store().sessions.create({ app: names.app, userId: names.userId });
    expect(sibling.sessionId).toMatch(/^[\w-]{22}$/);
    expect(sibling.state).toEqual({ 'app:x': 1, 'user:y': [2] });
    const stranger = await store().sessions.create({ ...names, userId: 'bob' });
    expect(stranger.state).toEqual({ 'app:x': 1 });
    expect((await new Turn(store(), { names }).opened(1)).state).toEqual(kept);
  });

  test('a session that a turn has made is there already, and of many creations at once one wins', async () => {
    const { names } = await turn(newNames());
    await expect(store().sessions.create(names)).rejects.toMatchObject({ code: 'HOLDFAST_SESSION_EXISTS' });
    const fresh = newNames();
    const creations = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) => store().sessions.create({ ...fresh, state: { n, 'app:n': n } })),
    );
    const [winner, ...others] = creations.filter((creation) => creation.status === 'fulfilled');
    expect(others).toEqual([]);
    expect(await store().sessions.get(fresh)).toEqual(winner?.value);
  });

  test('a session is read whole, by its last events, or after a seq or a time [session.get]', async () => {
    const names = newNames();
    await turn(names, { a: 1 });
    await turn(names, { a: 2 });
    const { session } = await turn(names);
    for (let seq = 1; seq <= 6; seq += 1) {
      await sql`update holdfast.events set created_at = to_timestamp(${seq}::int) + interval '0.4 ms'
        where session_id = ${session} and seq = ${seq}`.execute(store().db);
    }
    const seqs = async (options: object) =>
      (await store().sessions.get({ ...names, ...options }))?.events.map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await seqs({ numRecentEvents: 2 })).toEqual([5, 6]);
    expect(await seqs({ numRecentEvents: 0 })).toEqual([]);
    expect(await seqs({ numRecentEvents: 7 })).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await seqs({ after: 4 })).toEqual([5, 6]);
    expect(await seqs({ after: 6 })).toEqual([]);
    expect(await seqs({ afterTimestamp: 3_000 })).toEqual([3, 4, 5, 6]);
    expect(await seqs({ afterTimestamp: 3_000.5 })).toEqual([4, 5, 6]);
    expect(await seqs({ afterTimestamp: 0, after: 1, numRecentEvents: 9 })).toEqual([2, 3, 4, 5, 6]);
    expect(await seqs({ afterTimestamp: 2_000, after: 3, numRecentEvents: 1 })).toEqual([6]);
    const whole = await store().sessions.get(names);
    expect(whole?.events).toEqual(await store().sessions.readEvents(names));
    expect(whole).toMatchObject({ session, seq: 6, lastAgent: 'clerk', state: { a: 2 } });
    expect(whole).not.toHaveProperty('forkedFrom');
    expect(await store().sessions.get({ ...names, sessionId: 's2' })).toBeUndefined();
    for (const [field, value] of [
      ['numRecentEvents', -1],
      ['numRecentEvents', 1.5],
      ['after', Number.NaN],
      ['afterTimestamp', Number.NaN],
    ] as const) {
      await expect(store().sessions.get({ ...names, [field]: value })).rejects.toThrow(`${field}: `);
    }
  });

  test('names of any kind are their own sessions, and never those of others [session.get]', async () => {
    const { app } = newNames();
    const all: SessionNames[] = HOSTILE.flatMap((name) => [
      { app, userId: 'ada', sessionId: name },
      { app, userId: name, sessionId: 's1' },
      { app: `${app}${name}`, userId: 'ada', sessionId: 's1' },
    ]);
    all.push({ app, userId: 'x', sessionId: 'y/z' }, { app, userId: 'x/y', sessionId: 'z' });
    for (const [n, names] of all.entries()) {
      expect(await store().sessions.get(names)).toBeUndefined();
      expect(await store().sessions.delete(names)).toEqual([]);
      await store().sessions.create({ ...names, state: { n } });
    }
    for (const [n, names] of all.entries()) {
      expect(await store().sessions.get(names)).toMatchObject({ ...names, state: { n } });
    }
    for (const name of HOSTILE) {
      expect(await idsOf({ app, userId: name })).toEqual(['s1']);
      expect(await idsOf({ app: `${app}${name}` })).toEqual(['s1']);
      const fork = await store().sessions.fork({ app, userId: 'ada', sessionId: name, to: `${name}/fork` });
      expect(fork.forkedFrom?.sessionId).toBe(name);
      const missing = { app, userId: 'ada', sessionId: `${name}/` };
      await expect(store().sessions.fork(missing)).rejects.toThrow(/^.{1,300}$/s);
    }
    expect((await idsOf({ app, userId: 'ada' })).sort()).toEqual(
      HOSTILE.flatMap((name) => [name, `${name}/fork`]).sort(),
    );
    for (const { app: of, userId, sessionId } of all) {
      await store().sessions.delete({ app: of, userId, sessionId, withForks: true });
    }
    expect(await store().sessions.list({ app, withTotal: true })).toEqual({ sessions: [], totalItems: 0 });
  });

  test.each(['app', 'userId', 'sessionId'])('%s with a NUL or a lone surrogate is refused', async (field) => {
    for (const bad of ['a\0b', 'a\ud800']) {
      const names = { ...newNames(), [field]: bad };
      for (const attempt of [
        () => store().sessions.create(names),
        () => store().sessions.get(names),
        () => store().sessions.delete(names),
        () => store().sessions.fork(names),
      ]) {
        await expect(attempt()).rejects.toMatchObject({
          code: 'HOLDFAST_UNSTORABLE',
          message: expect.stringContaining(field),
        });
      }
    }
  });

  test('sessions are listed by app and by user, the last updated first [session.list]', async () => {
    const names = newNames();
    for (const sessionId of ['one', 'two', 'three'])
      await turn({ ...names, sessionId }, { big: 'x'.repeat(1_000) });
    await turn({ ...names, userId: 'bob', sessionId: 'four' });
    await turn({ ...names, sessionId: 'two' });
    expect(await idsOf({ app: names.app })).toEqual(['two', 'four', 'three', 'one']);
    expect(await idsOf({ app: names.app, order: 'asc' })).toEqual(['one', 'three', 'four', 'two']);
    expect(await idsOf({ app: names.app, userId: 'ada' })).toEqual(['two', 'three', 'one']);
    expect(await idsOf({ app: names.app, userId: '' })).toEqual([]);
    expect(await idsOf({ app: newNames().app })).toEqual([]);
    const { sessions } = await store().sessions.list({ app: names.app, limit: 1 });
    expect(sessions).toEqual([
      {
        ...names,
        sessionId: 'two',
        session: expect.any(String),
        seq: 4,
        lastAgent: 'clerk',
        createdAt: expect.any(Number),
        updatedAt: expect.any(Number),
        usage: { modelCalls: 2, promptTokens: 20, outputTokens: 10, totalTokens: 30 },
      },
    ]);
    for (const field of ['limit', 'offset']) {
      await expect(store().sessions.list({ app: names.app, [field]: -1 })).rejects.toThrow(`${field}: -1`);
    }
  });

  test('pages of sessions of the same time leave none out, by number and by place [session.list]', async () => {
    const names = newNames();
    const ids = Array.from({ length: 10 }, (_, n) => `s${n}`);
    for (const sessionId of ids) {
      await store().sessions.create({ ...names, sessionId });
      await setListed({ ...names, sessionId }, sessionId < 's5' ? '2020-01-01' : '2021-01-01');
    }
    for (const order of ['asc', 'desc'] as const) {
      const found: string[] = [];
      for (let offset = 0; offset < 12; offset += 3) {
        const page = await store().sessions.list({ ...names, limit: 3, offset, order, withTotal: true });
        expect(page.totalItems).toBe(10);
        found.push(...page.sessions.map(({ sessionId }) => sessionId));
      }
      expect(found).toHaveLength(10);
      expect([...found].sort()).toEqual(ids);
      const walked: string[] = [];
      let page: ListedSessions | undefined;
      do {
        const after = page?.next === undefined ? {} : { after: page.next };
        page = await store().sessions.list({ ...names, limit: 5, order, ...after });
        walked.push(...page.sessions.map(({ sessionId }) => sessionId));
      } while (page.next !== undefined);
      expect(walked).toEqual(found);
      expect(found.slice(0, 5).every((id) => id < 's5')).toBe(order === 'asc');
    }
    expect(await store().sessions.list({ ...names, offset: 10 })).toEqual({ sessions: [] });
  });

  test('a deleted session is gone, and one of its name begins anew [session.delete]', async () => {
    const names = newNames();
    const other = await turn({ ...names, sessionId: 'other' });
    const old = new Turn(store(), { names });
    await old.opened(1, { stateDelta: { own: 1, 'app:x': 1, 'user:y': 1 } });
    await old.commit(1, 1);
    await old.begin(1, 0);
    expect(await store().sessions.delete(names)).toEqual([names]);
    expect(await store().sessions.get(names)).toBeUndefined();
    expect(await store().sessions.readEvents(names)).toEqual([]);
    expect(await store().turns.findInvocation(names, old.invocationId)).toBeUndefined();
    for (const table of ['events', 'runs', 'ledger', 'inbox', 'sessions']) {
      const column = table === 'sessions' ? 'id' : 'session_id';
      const { rows } =
        await sql`select from holdfast.${sql.raw(table)} where ${sql.raw(column)} = ${old.session}`.execute(
          store().db,
        );
      expect(rows, table).toEqual([]);
    }
    // The turn that was under way can't go on, and brings nothing back.
    await expect(old.commit(1, 1)).rejects.toMatchObject({ code: 'HOLDFAST_STORE_BEHIND_HISTORY' });
    expect(await store().sessions.delete(names)).toEqual([]);

    const anew = await store().sessions.create(names);
    expect(anew.session).not.toBe(old.session);
    expect(anew).toMatchObject({ seq: 0, events: [], state: { 'app:x': 1, 'user:y': 1 } });
    expect(await other.events()).toHaveLength(2);
  });

  test('a session with forks is deleted with them, or not at all [session.delete]', async () => {
    const names = newNames();
    await turn(names);
    const at = (sessionId: string) => ({ ...names, sessionId });
    await store().sessions.fork({ ...names, to: 'child' });
    await store().sessions.fork({ ...at('child'), to: 'grandchild' });
    await turn(at('grandchild'));
    await turn(at('unrelated'));
    await expect(store().sessions.delete(names)).rejects.toMatchObject({
      code: 'HOLDFAST_SESSION_HAS_FORKS',
      message: expect.stringMatching(/"child", "grandchild".*withForks/),
    });
    expect(await store().sessions.readEvents(at('grandchild'))).toHaveLength(4);
    expect(await store().sessions.delete({ ...at('child'), withForks: true })).toEqual([
      at('child'),
      at('grandchild'),
    ]);
    expect(await store().sessions.delete(names)).toEqual([names]);
    expect(await idsOf({ app: names.app })).toEqual(['unrelated']);
  });

  test('the forks of a session are found without reading others, parents first', async () => {
    const names = newNames();
    const at = (sessionId: string) => ({ ...names, sessionId });
    expect(await store().sessions.forksOf(names)).toEqual([]);
    await turn(names);
    await turn(at('unrelated'));
    expect(await store().sessions.forksOf(names)).toEqual([]);
    await store().sessions.fork({ ...names, to: 'child' });
    await store().sessions.fork({ ...at('child'), to: 'grandchild' });
    await store().sessions.fork({ ...at('unrelated'), to: 'stranger' });
    expect(await store().sessions.forksOf(names)).toEqual([at('child'), at('grandchild')]);
    expect(await store().sessions.forksOf(at('child'))).toEqual([at('grandchild')]);
  });

  test('forks that are made while their session is deleted are whole or not there [session.delete]', async () => {
    for (let round = 0; round < 5; round += 1) {
      const names = newNames();
      await turn(names);
      await Promise.allSettled([
        ...Array.from({ length: 4 }, (_, n) => store().sessions.fork({ ...names, to: `fork ${n}` })),
        store().sessions.delete({ ...names, withForks: true }),
        ...Array.from({ length: 4 }, (_, n) => store().sessions.fork({ ...names, to: `late ${n}` })),
      ]);
      expect((await store().sessions.list({ app: names.app })).sessions).toEqual([]);
    }
  });

  test('a list of sessions reads no states, which can be large [session.list]', async () => {
    const names = newNames();
    const blocks = async () => {
      const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>`
        explain (analyze, buffers, format json)
        select holdfast.summary(s.id) from holdfast.sessions s where s.app = ${names.app}`.execute(
        store().db,
      );
      const { Plan } = (rows[0] as (typeof rows)[0])['QUERY PLAN'][0];
      return (Plan['Shared Hit Blocks'] as number) + (Plan['Shared Read Blocks'] as number);
    };
    await store().sessions.create(names);
    await blocks();
    const small = await blocks();
    const noise = randomBytes(1_000_000).toString('base64');
    await store().sessions.create({ ...names, sessionId: 's2', state: { noise } });
    expect(await blocks()).toBeLessThan(small + 50);
  });

  test('reads of what can not be there find nothing, and wrong bounds are named', async () => {
    const { names, session } = await turn(newNames());
    for (const id of ['a\0b', 'a\ud800']) {
      expect(await store().turns.findInvocation(names, id)).toBeUndefined();
      expect(await store().turns.readReference(names, id)).toBeUndefined();
      expect(await store().sessions.readAudit(`${session}${id}`)).toEqual([]);
      await expect(store().sessions.rewind({ ...names, beforeInvocationId: id })).rejects.toMatchObject({
        code: 'HOLDFAST_NO_SUCH_PLACE',
      });
    }
    for (const [field, value] of [
      ['after', 1.5],
      ['after', Number.NaN],
      ['limit', -1],
      ['limit', 2 ** 60],
    ] as const) {
      await expect(store().sessions.readEvents({ ...names, [field]: value })).rejects.toThrow(`${field}: `);
    }
  });
}
