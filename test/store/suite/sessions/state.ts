import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { CallActions } from '../../../../src/store/turns/call-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { newNames, Turn } from '../turns/turn.ts';

type Json = Record<string, unknown>;

export function stateSuite(store: () => PostgresStore): void {
  test('app and user state is shared by sessions, session state is not, and all come back with prefixes [turn.state]', async () => {
    const names = newNames();
    const one = new Turn(store(), { names });
    await one.opened(1, { stateDelta: { own: 1, 'app:a': { x: 1 }, 'user:u': [1], 'app:gone': 1 } });
    await one.commit(1, 0, { actions: { stateDelta: { 'app:gone': null, own: { y: 1 } } } });
    const sameUser = new Turn(store(), { names: { ...names, sessionId: 's2' } });
    expect((await sameUser.opened(1)).state).toEqual({ 'app:a': { x: 1 }, 'app:gone': null, 'user:u': [1] });
    const otherUser = new Turn(store(), { names: { ...names, userId: 'bob' } });
    expect((await otherUser.opened(1)).state).toEqual({ 'app:a': { x: 1 }, 'app:gone': null });
    const again = new Turn(store(), { names });
    expect((await again.opened(1, { stateDelta: { own: { z: 2 } } })).state).toEqual({
      own: { z: 2 },
      'app:a': { x: 1 },
      'app:gone': null,
      'user:u': [1],
    });
    expect((await new Turn(store()).opened(1)).state).toEqual({});
  });

  test('temp state crosses steps, is in no event, and ends with its invocation [turn.state]', async () => {
    const turn = new Turn(store());
    await turn.opened(1, { stateDelta: { 'temp:a': 1, kept: 1 } });
    await turn.commit(1, 1, { actions: { stateDelta: { 'temp:b': { c: 2 } } } });
    await turn.settle(1, 0, { ok: true }, { stateDelta: { 'temp:a': 3, more: 1 } });
    const { state } = await turn.opened(2);
    expect(state).toEqual({ kept: 1, more: 1, 'temp:a': 3, 'temp:b': { c: 2 } });
    await turn.commit(2, 0);
    const events = await turn.events();
    expect(JSON.stringify(events)).not.toContain('temp:');
    expect(events.map(({ event }) => event.actions.stateDelta)).toEqual([{ kept: 1 }, {}, { more: 1 }, {}]);
    const next = new Turn(store(), { names: turn.names });
    expect((await next.opened(1)).state).toEqual({ kept: 1, more: 1 });
  });

  test('names and state keys of any length and any characters', async () => {
    const names = {
      app: `a/${'Ä'.repeat(5_000)}`,
      userId: `u';--${'\u{1f600}'.repeat(3_000)}`,
      sessionId: `%_\\${'s'.repeat(10_000)}`,
    };
    const key = `k${'e'.repeat(5_000)}`;
    const delta = { [`app:${key}`]: 1, [`user:${key}`]: 2, [key]: 3, __proto__x: 4, '': 5, 'app:': 6 };
    const turn = new Turn(store(), { names });
    const { names: found, state } = await turn.opened(1, { stateDelta: delta });
    expect(found).toEqual(names);
    expect(state).toEqual(delta);
    for (const field of ['app', 'userId', 'sessionId'] as const) {
      for (const bad of ['a\0b', 'a\ud800']) {
        const other = new Turn(store(), { names: { ...names, [field]: bad } });
        await expect(other.open(1)).rejects.toMatchObject({ code: 'HOLDFAST_UNSTORABLE', retryable: false });
        await expect(other.open(1)).rejects.toThrow(field);
      }
    }
  });

  test('the actions of a step merge in call order, as in the model [turn.actions]', async () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const leaf = fc.oneof(
      fc.integer(),
      fc.constant(null),
      fc.boolean(),
      fc.string(),
      fc.array(fc.integer(), { maxLength: 2 }),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, fc.dictionary(key, tie('value'), { maxKeys: 3 })),
    }));
    const flag = { nil: undefined };
    const actions: fc.Arbitrary<CallActions> = fc.record(
      {
        stateDelta: fc.dictionary(key, value, { maxKeys: 3 }),
        artifactDelta: fc.dictionary(key, fc.nat(9), { maxKeys: 2 }),
        skipSummarization: fc.boolean(),
        escalate: fc.boolean(),
        transferToAgent: fc.option(fc.constantFrom('', 'x', 'y'), flag) as fc.Arbitrary<string>,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { minLength: 1, maxLength: 5 }), fc.gen(), async (all, gen) => {
        const turn = new Turn(store());
        await turn.opened(1);
        await turn.commit(1, all.length);
        const order = gen(() => fc.shuffledSubarray([...all.keys()], { minLength: all.length }));
        await Promise.all(order.map((index) => turn.settle(1, index, { index }, all[index])));
        const { events, state } = await turn.opened(2);
        const { event } = events.at(-1) ?? { event: undefined };
        expect(event?.content?.parts?.map((part) => part.functionResponse?.response?.index)).toEqual([
          ...all.keys(),
        ]);
        const merged = JSON.parse(JSON.stringify(mergedActions(all)));
        expect(event?.actions).toEqual(merged);
        expect(state).toEqual(merged.stateDelta);
      }),
      { numRuns: inTier(6, 60) },
    );
  });
}

function mergedActions(all: readonly CallActions[]) {
  const stateDelta = all.reduce<Json>((delta, actions) => merge(delta, actions.stateDelta ?? {}), {});
  const artifactDelta: Record<string, number> = {};
  for (const { artifactDelta: versions = {} } of all) {
    for (const [name, version] of Object.entries(versions)) {
      artifactDelta[name] = Math.max(artifactDelta[name] ?? 0, version);
    }
  }
  const transferToAgent = all.findLast((actions) => actions.transferToAgent)?.transferToAgent;
  return {
    stateDelta,
    artifactDelta,
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
    ...(all.some((actions) => actions.skipSummarization) ? { skipSummarization: true } : {}),
    ...(all.some((actions) => actions.escalate) ? { escalate: true } : {}),
    ...(transferToAgent ? { transferToAgent } : {}),
  };
}

function merge(older: Json, newer: Json): Json {
  const merged = { ...older };
  for (const [key, value] of Object.entries(newer)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
