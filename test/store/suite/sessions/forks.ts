import fc from 'fast-check';
import { expect, test } from 'vitest';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { inTier } from '../../../setup/tier.ts';
import { newNames, Turn } from '../turns/turn.ts';
import { ModelSession, sessionPart, withoutNulls } from './session-model.ts';

const key = fc.constantFrom('a', 'b', 'c', '', 'app', 'app:x', 'user:y', 'temp:z');
const value = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.constantFrom('', 'ä'),
  fc.constant({ deep: [1, null] }),
);
const delta = fc.dictionary(key, value, { maxKeys: 3 });
const agent = fc.constantFrom('clerk', 'boss');
const session = fc.nat();
const said = fc.record({ delta, author: fc.constantFrom('clerk', 'model', 'user', 'nobody') });

const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('turn' as const),
      session,
      agent,
      message: delta,
      model: delta,
      /** Said by user code before and behind the model, as anybody. */
      before: fc.array(said, { maxLength: 2 }),
      after: fc.array(said, { maxLength: 2 }),
      call: fc.option(delta),
      answer: delta,
      /** The turn is left open behind the settled call. */
      broken: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fork' as const), session, at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('rewind' as const), session, before: fc.nat() }) },
);

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;
type Turned = Extract<Command, { type: 'turn' }>;

interface Pair {
  names: SessionNames;
  model: ModelSession;
}

export function forkSuite(store: () => PostgresStore): void {
  async function turn(names: SessionNames, text: string, stateDelta: Record<string, unknown> = {}) {
    const made = new Turn(store(), { names });
    await made.opened(1, { text, stateDelta });
    await made.commit(1, 0, { text });
    return made;
  }

  test('a fork reads what came before it and copies nothing [session.fork]', async () => {
    const names = newNames();
    const one = await turn(names, 'one', { a: 1, 'app:x': 1 });
    await turn(names, 'two', { a: 2, b: 2 });
    const fork = await store().sessions.fork({ ...names, at: 2, to: 'fork' });
    const parent = await store().sessions.readEvents(names);
    expect(fork).toMatchObject({
      ...names,
      sessionId: 'fork',
      seq: 2,
      lastAgent: 'clerk',
      state: { a: 1, 'app:x': 1 },
      forkedFrom: { sessionId: names.sessionId, seq: 2 },
      usage: { modelCalls: 0 },
    });
    expect(fork.events).toEqual(parent.slice(0, 2));
    const own = await store()
      .db.selectFrom('holdfast.events')
      .select('seq')
      .where('session_id', '=', fork.session)
      .execute();
    expect(own).toEqual([]);

    const next = new Turn(store(), { names: { ...names, sessionId: 'fork' } });
    const opened = await next.opened(1, { text: 'three', stateDelta: { a: 3 } });
    expect(opened).toMatchObject({ seq: 3, from: 3, lastAgent: 'clerk', state: { a: 3, 'app:x': 1 } });
    expect(opened.events.map(({ seq, event }) => [seq, event.invocationId])).toEqual([
      [1, one.invocationId],
      [2, one.invocationId],
      [3, next.invocationId],
    ]);
    await next.commit(1, 0);
    expect(await store().sessions.readEvents(names)).toEqual(parent);
    expect((await store().sessions.get(names))?.state).toEqual({ a: 2, b: 2, 'app:x': 1 });
    expect(
      await store().sessions.readEvents({ ...names, sessionId: 'fork', after: 1, limit: 2 }),
    ).toMatchObject([
      { seq: 2, event: parent[1]?.event },
      { seq: 3, kind: 'message' },
    ]);
  });

  test('by default a fork has all events and a random id, and a session that goes on does not change it', async () => {
    const names = newNames();
    await turn(names, 'one', { a: 1 });
    const fork = await store().sessions.fork(names);
    expect(fork).toMatchObject({ seq: 2, state: { a: 1 } });
    expect(fork.sessionId).toMatch(/^[\w-]{22}$/);
    await turn(names, 'two', { a: 2 });
    const { app, userId, sessionId } = fork;
    expect(await store().sessions.get({ app, userId, sessionId })).toEqual(fork);
  });

  test('a fork of a fork before its first own event is one of the first session', async () => {
    const names = newNames();
    const initial = { kept: 0 };
    await store().sessions.create({ ...names, state: initial });
    await turn(names, 'one', { a: 1 });
    await turn(names, 'two', { a: 2 });
    await store().sessions.fork({ ...names, at: 3, to: 'f' });
    await turn({ ...names, sessionId: 'f' }, 'three', { a: 3 });
    const early = await store().sessions.fork({ ...names, sessionId: 'f', at: 1, to: 'early' });
    expect(early).toMatchObject({ seq: 1, state: { kept: 0, a: 1 }, forkedFrom: { sessionId: 'f', seq: 1 } });
    expect(early.lastAgent).toBeUndefined();
    expect(early.events.map(({ seq }) => seq)).toEqual([1]);
    const empty = await store().sessions.fork({ ...names, sessionId: 'early', at: 0, to: 'empty' });
    expect(empty).toMatchObject({ seq: 0, state: initial, events: [] });
    await turn({ ...names, sessionId: 'empty' }, 'four');
    expect(
      (await store().sessions.readEvents({ ...names, sessionId: 'empty' })).map(({ seq }) => seq),
    ).toEqual([1, 2]);
  });

  test('a fork reads the references of what it shares, and none of what came later', async () => {
    const names = newNames();
    const parent = new Turn(store(), { names });
    await parent.opened(1);
    const row = { callKey: parent.callKey(1, 0), index: 0, callId: 'call_0', tool: 'pay', args: { n: 1 } };
    await parent.commit(1, 1, { rows: [row] });
    const fork = await store().sessions.fork({ ...names, to: 'fork' });
    await parent.begin(1, 0);
    await parent.settle(1, 0, { ok: true });
    await parent.opened(2);
    await parent.commit(2, 1);
    await parent.settle(2, 0, { late: true });
    await parent.opened(3);
    await parent.commit(3, 0, { text: 'the end' });
    const inFork = { ...names, sessionId: fork.sessionId };
    expect(await store().turns.readReference(inFork, parent.callKey(1, 0))).toEqual({ ok: true });
    expect(await store().turns.readReference(names, parent.callKey(2, 0))).toEqual({ late: true });
    expect(await store().turns.readReference(inFork, parent.callKey(2, 0))).toBeUndefined();
    expect(await store().turns.readReference(names, `${parent.invocationId}.3`)).toBe('the end');
    expect(await store().turns.readReference(inFork, `${parent.invocationId}.3`)).toBeUndefined();
    await store().sessions.fork({ ...inFork, sessionId: names.sessionId, to: 'whole' });
    const whole = { ...names, sessionId: 'whole' };
    expect(await store().turns.readReference(whole, `${parent.invocationId}.3`)).toBe('the end');
    // A message's id is one turn of its own session.
    expect(await store().turns.findInvocation(whole, parent.invocationId)).toBeUndefined();
  });

  test('a fork is refused of no session, at no event, and under a name that is taken', async () => {
    const names = newNames();
    await expect(store().sessions.fork(names)).rejects.toMatchObject({ code: 'HOLDFAST_SESSION_NOT_FOUND' });
    await turn(names, 'one');
    for (const at of [-1, 3, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(store().sessions.fork({ ...names, at })).rejects.toMatchObject({
        code: 'HOLDFAST_NO_SUCH_PLACE',
        message: expect.stringContaining('0 to 2'),
      });
    }
    await expect(store().sessions.fork({ ...names, to: names.sessionId })).rejects.toMatchObject({
      code: 'HOLDFAST_SESSION_EXISTS',
    });
    expect((await store().sessions.list({ app: names.app })).sessions).toHaveLength(1);
  });

  test('many forks at once of a session that is written to each have a whole beginning', async () => {
    const names = newNames();
    await turn(names, 'first', { n: 0 });
    const writing = (async () => {
      for (let n = 1; n <= 10; n += 1) await turn(names, `turn ${n}`, { n });
    })();
    const forks = await Promise.all(Array.from({ length: 20 }, () => store().sessions.fork(names)));
    await writing;
    const events = await store().sessions.readEvents(names);
    for (const fork of forks) {
      expect(fork.events).toEqual(events.slice(0, fork.seq));
      expect(fork.state).toEqual({ n: Math.ceil(fork.seq / 2) - 1 });
    }
  });

  test('turns, forks and rewinds agree with a simple model [session.fork] [session.rewind]', async () => {
    await fc.assert(
      fc.asyncProperty(
        delta,
        fc.array(command, { minLength: 1, maxLength: 12 }),
        async (initial, commands) => {
          const names = newNames();
          await store().sessions.create({ ...names, state: initial });
          const pairs: Pair[] = [{ names, model: new ModelSession(initial) }];
          for (const step of commands) {
            await run(store(), pairs, step);
            for (const pair of pairs) await agrees(store(), pair);
          }
          for (const pair of pairs) await readsInPieces(store(), pair);
        },
      ),
      { numRuns: inTier(5, 30) },
    );
  });
}

async function run(store: PostgresStore, pairs: Pair[], step: Command): Promise<void> {
  const { names, model } = pairs[step.session % pairs.length] as Pair;
  if (step.type === 'turn') return await runTurn(store, { names, model }, step);
  if (step.type === 'fork') {
    const at = step.at % (model.seq + 1);
    const to = `fork ${pairs.length}`;
    await store.sessions.fork({ ...names, at, to });
    pairs.push({ names: { ...names, sessionId: to }, model: model.fork(at) });
    return;
  }
  const { invocations } = model;
  const before = invocations[step.before % invocations.length];
  if (before === undefined) {
    const refused = store.sessions.rewind({ ...names, beforeInvocationId: 'e-none' });
    await expect(refused).rejects.toMatchObject({ code: 'HOLDFAST_NO_SUCH_PLACE' });
    return;
  }
  const marker = await store.sessions.rewind({ ...names, beforeInvocationId: before });
  model.rewind(before, marker.event.invocationId as string);
}

async function runTurn(store: PostgresStore, { names, model }: Pair, step: Turned): Promise<void> {
  const turn = new Turn(store, { names });
  const { invocationId } = turn;
  model.heal();
  await turn.opened(1, { stateDelta: step.message });
  model.append({ kind: 'message', invocationId, delta: step.message });
  const calls = step.call === null ? 0 : 1;
  const events = (all: Turned['before']) =>
    all.map(({ delta: stateDelta, author }) => turn.said('', { stateDelta }, author));
  const append = (all: Turned['before']) => {
    for (const { delta } of all) model.append({ kind: 'callback', invocationId, delta, agent: step.agent });
  };
  const { agent, before, after } = step;
  const actions = { stateDelta: step.model };
  await turn.commit(1, calls, { agent, actions, before: events(before), after: events(after) });
  append(before);
  model.append({ kind: 'model', invocationId, delta: step.model, agent });
  append(after);
  if (step.call === null) return;
  await turn.settle(1, 0, { ok: true }, { stateDelta: step.call });
  model.open = { kind: 'responses', invocationId, delta: step.call };
  if (step.broken) return;
  model.heal();
  await turn.opened(2);
  await turn.commit(2, 0, { agent: step.agent, actions: { stateDelta: step.answer } });
  model.append({ kind: 'model', invocationId, delta: step.answer, agent: step.agent });
}

async function agrees(store: PostgresStore, { names, model }: Pair): Promise<void> {
  const session = await store.sessions.get(names);
  const rows = session?.events.map(({ seq, kind, event }) => [seq, kind, event.invocationId]);
  expect(rows).toEqual(model.events.map(({ kind, invocationId }, index) => [index + 1, kind, invocationId]));
  expect(visibleEvents(session?.events ?? []).map(({ seq }) => seq)).toEqual(model.now.visible);
  expect(withoutNulls(sessionPart(session?.state ?? {}))).toEqual(withoutNulls(model.now.state));
  expect(session?.lastAgent).toBe(model.now.lastAgent);
  expect(session?.seq).toBe(model.seq);
}

async function readsInPieces(store: PostgresStore, { names, model }: Pair): Promise<void> {
  const all = (await store.sessions.get(names))?.events ?? [];
  for (let after = 0; after <= model.seq; after += 1) {
    expect(await store.sessions.readEvents({ ...names, after, limit: 3 })).toEqual(
      all.slice(after, after + 3),
    );
    const recent = await store.sessions.get({ ...names, after, numRecentEvents: 3 });
    expect(recent?.events).toEqual(all.slice(after).slice(-3));
  }
}
