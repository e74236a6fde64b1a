import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { newNames, nextFence, Turn } from './turn.ts';

export function concurrencySuite(store: () => PostgresStore): void {
  test('50 turns at once in 5 sessions: seq is gapless, every turn has one place [store.append]', async () => {
    const sessions = Array.from({ length: 5 }, newNames);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, async (_, index) => {
        const turn = new Turn(store(), { names: sessions[index % 5] ?? newNames() });
        await turn.opened(1);
        await turn.commit(1, 2);
        await Promise.all([turn.settle(1, 0, { index }), turn.settle(1, 1, { index })]);
        await turn.opened(2);
        await turn.commit(2, 0);
      }),
    );
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const names of sessions) {
      const events = await store().sessions.readEvents(names);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(new Set(events.map(({ kind, runKey, step }) => `${kind} ${runKey} ${step}`)).size).toBe(
        events.length,
      );
      const seq = (await store().sessions.find(names))?.seq;
      expect(seq).toBe(events.length);
    }
  });

  test('20 starts of one message at once are one message and one outcome [turn.messageId]', async () => {
    const names = newNames();
    const fence = nextFence();
    const attempts = Array.from({ length: 20 }, () => new Turn(store(), { names, messageId: 'm', fence }));
    const opened = await Promise.all(attempts.map((turn) => turn.opened(1)));
    expect(new Set(opened.map(({ session }) => session)).size).toBe(1);
    expect(opened.map(({ attempt }) => attempt).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    const committed = await Promise.all(attempts.map((turn, index) => turn.commit(1, index % 2)));
    expect(committed.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
    expect(new Set(committed.map(({ outcome }) => JSON.stringify(outcome))).size).toBe(1);
    expect(await store().sessions.readEvents(names)).toHaveLength(2);
  });

  test('200 calls begin and settle at once, each twice: one attempt is one, one outcome counts [store.calls]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 200);
    const indexes = [...Array(200).keys()];
    const begun = await Promise.all([...indexes, ...indexes].map((index) => turn.begin(1, index)));
    const attempts = begun.map((call) => (call.kind === 'started' ? call.attempt : 0));
    expect(attempts).toEqual([...indexes.map(() => 1), ...indexes.map(() => 2)]);
    const settled = await Promise.all(
      [...indexes, ...indexes].map((index, nth) => turn.settle(1, index, { index, nth })),
    );
    expect(settled.filter(({ first }) => first)).toHaveLength(200);
    for (const [nth, { response }] of settled.entries()) expect(response.index).toBe(indexes[nth % 200]);
    const { events } = await turn.opened(2);
    expect(events.at(-1)?.event.content?.parts?.map((part) => part.functionResponse?.response)).toEqual(
      settled.slice(0, 200).map(({ response }) => response),
    );
  });

  test('calls of different sessions share a flush and keep to their own state', async () => {
    const turns = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const turn = new Turn(store());
        await turn.opened(1, { text: `text ${index}`, stateDelta: { index } });
        await turn.commit(1, 1);
        return turn;
      }),
    );
    const begun = await Promise.all(turns.map((turn) => turn.begin(1, 0)));
    expect(begun).toMatchObject(
      turns.map(({ names, invocationId }, index) => ({
        names,
        invocationId,
        state: { index },
        userContent: { parts: [{ text: `text ${index}` }] },
      })),
    );
  });

  test('calls that are not in the store fail alone', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 2);
    const lost = new Turn(store());
    lost.session = 'none';
    const results = await Promise.allSettled([turn.begin(1, 0), lost.begin(1, 0), turn.begin(1, 1)]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  test('a transcript of 2,000 events is read whole, and in pieces [store.read]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await sql`
      insert into holdfast.events
        (session_id, seq, invocation_id, run_key, step, kind, author, body, dedupe_key)
      select session_id, n, invocation_id, run_key, n, kind, author,
        json_build_object('text', repeat('word ', 100)), 'copy:' || n
      from holdfast.events, generate_series(2, 2000) n where session_id = ${turn.session}`.execute(
      store().db,
    );
    await sql`update holdfast.sessions set last_seq = 2000 where id = ${turn.session}`.execute(store().db);
    const started = performance.now();
    const events = await store().sessions.readEvents({ ...turn.names, limit: 5_000 });
    console.log(`2,000 events read in ${(performance.now() - started).toFixed(1)} ms`);
    expect(events).toHaveLength(2_000);
    expect(await turn.events()).toHaveLength(1_000);
    const last = await store().sessions.readEvents({ ...turn.names, after: 1_990 });
    expect(last.map(({ seq }) => seq)).toEqual([1991, 1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999, 2000]);
    const opening = performance.now();
    expect((await turn.opened(1)).events).toHaveLength(2_000);
    console.log(`2,000 events opened in ${(performance.now() - opening).toFixed(1)} ms`);
  });
}
