import { expect, test } from 'vitest';
import { type OrderBook, Orders } from '../../workflows/turn/orders.ts';

test('an order is carried out once whatever its id is, also in the next run [steer.cancelCall]', () => {
  const book: OrderBook = {};
  const orders = new Orders(book);
  const carriedOut: string[] = [];
  const once = (to: Orders, orderId: string) => to.once({ orderId }, () => carriedOut.push(orderId));
  for (const id of ['__proto__', 'constructor', 'a', '__proto__', 'constructor', 'a']) once(orders, id);
  expect(carriedOut).toEqual(['__proto__', 'constructor', 'a']);
  const next = new Orders(JSON.parse(JSON.stringify(book)));
  expect(once(next, '__proto__')).toBe(1);
  expect(carriedOut).toHaveLength(3);
});

test('of many orders the oldest are forgotten, in the order in which they came [steer.cancelCall]', () => {
  const orders = new Orders({});
  for (let at = 0; at < 50; at += 1) orders.once({ orderId: `x-${at}` }, () => at);
  orders.once({ orderId: '7' }, () => 50);
  expect(orders.knows({ orderId: 'x-0' })).toBe(false);
  expect(orders.knows({ orderId: 'x-1' })).toBe(true);
  expect(orders.knows({ orderId: '7' })).toBe(true);
});
