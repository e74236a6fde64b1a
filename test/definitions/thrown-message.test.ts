import { expect, test } from 'vitest';
import { thrownMessage } from '../../src/schema/thrown-message.ts';

class Refused extends Error {}
class Odd {}

const hostile = {
  get message(): string {
    throw new Error('again');
  },
  get name(): string {
    throw new Error('again');
  },
};

test.each<[string, unknown, string]>([
  ['error', new Error('no stock'), 'no stock'],
  ['error of a class without a message', new RangeError(), 'RangeError'],
  ['string', 'broken', 'broken'],
  ['empty string', '', ''],
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['number', 42, '42'],
  ['symbol', Symbol('s'), 'Symbol(s)'],
  ['bigint', 3n, '3'],
  ['object with a message', { message: 'from a library' }, 'from a library'],
  ['plain object', { token: 's3cret' }, 'object without a message'],
  ['instance', new Odd(), 'Odd without a message'],
  ['null prototype', Object.create(null), 'object without a message'],
  ['function', () => 1, 'Function without a message'],
  ['getters that throw', hostile, 'object without a message'],
  ['aggregate', new AggregateError([new Error('a'), 'b', new Error('a')]), 'a; b'],
  ['aggregate with a message', new AggregateError([new Error('a')], 'all failed'), 'all failed'],
  ['empty aggregate', new AggregateError([]), 'AggregateError'],
  ['lone surrogate', new Error('\ud800'), '\ufffd'],
])('%s', (_, thrown, message) => {
  expect(thrownMessage(thrown)).toBe(message);
});

test('subclasses, proxies, endless messages [tool.throws]', () => {
  expect(thrownMessage(new Refused('x'))).toBe('x');
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(thrownMessage(proxy)).toContain('without a message');
  expect(thrownMessage('x'.repeat(1_000_000))).toHaveLength(4_001);
});
