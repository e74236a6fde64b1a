import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { State } from '../../src/tools/state.ts';

describe('State [turn.state]', () => {
  test('reads what was there, under what was written', () => {
    const delta = {};
    const state = new State({ a: 1, 'user:plan': 'free' }, delta);
    expect(state.get('a')).toBe(1);
    expect(state.get('missing')).toBeUndefined();
    expect(state.get('missing', 'default')).toBe('default');
    expect(state.hasDelta()).toBe(false);
    state.set('user:plan', 'pro');
    state.update({ b: 2, [`${State.TEMP_PREFIX}t`]: null });
    expect(delta).toEqual({ 'user:plan': 'pro', b: 2, 'temp:t': null });
    expect(state.get('user:plan')).toBe('pro');
    expect(state.has('temp:t')).toBe(true);
    expect(state.hasDelta()).toBe(true);
    expect(state.toRecord()).toEqual({ a: 1, 'user:plan': 'pro', b: 2, 'temp:t': null });
  });

  test('changing what was read changes nothing for others, and is seen by this call', () => {
    const value = { cart: ['a'] };
    const state = new State(value);
    state.get<string[]>('cart')?.push('b');
    expect(value.cart).toEqual(['a']);
    expect(state.get('cart')).toEqual(['a', 'b']);
  });

  test('what was there gets what is written, as on ADK, unless others read it', () => {
    const [value, delta] = [{ a: 1 }, {}];
    new State(value, delta).update({ a: 2, b: null });
    expect([value, delta]).toEqual([
      { a: 2, b: null },
      { a: 2, b: null },
    ]);
    const shared = Object.freeze({ a: 1 });
    const over = State.over(shared, {});
    over.set('a', 2);
    expect([over.get('a'), shared]).toEqual([2, { a: 1 }]);
  });

  test('names of Object.prototype are ordinary keys', () => {
    const delta: Record<string, unknown> = {};
    const state = new State({}, delta);
    expect(state.get('constructor')).toBeUndefined();
    expect(state.has('toString')).toBe(false);
    state.set('__proto__', { admin: true });
    expect(Object.getPrototypeOf(delta)).toBe(Object.prototype);
    expect(state.get('__proto__')).toEqual({ admin: true });
    expect(JSON.stringify(delta)).toBe('{"__proto__":{"admin":true}}');
  });

  test('undefined is written as null, and what JSON lacks is refused where it is written', () => {
    const state = new State();
    state.set('a', undefined);
    expect(state.get('a', 1)).toBeNull();
    expect(() => state.set('cart', { rows: [1n] })).toThrow('state.cart.rows[0]: JSON has no bigint');
    expect(() => state.update({ 'user:run': () => 1 })).toThrow('state["user:run"]: JSON has no function');
  });

  test('is shown by console.log as what it holds, as ADK shows it', () => {
    const state = new State({ cart: ['a'], n: 1 }, { n: 2 });
    expect(inspect({ state })).toBe("{ state: State { cart: [ 'a' ], n: 2 } }");
  });

  test('read-only with a frozen delta', () => {
    const state = new State({ a: 1 }, Object.freeze({}));
    expect(() => state.set('a', 2)).toThrow('state.set("a"): the state is read-only here');
    expect(state.get('a')).toBe(1);
  });
});
