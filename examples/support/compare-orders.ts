import { tool } from 'holdfast';
import { z } from 'zod';
import { daysLateOf, goodsCentsOf, orderOf, productOf, totalCentsOf } from './order-book.ts';
import type { Order } from './order-file.ts';
import { orderId } from './order-id.ts';

/** What a comparison looks at; the customer is told apart without being named. */
const ASPECTS: Record<string, (order: Order) => string | number> = {
  customer: ({ email }) => email,
  placed: ({ placed }) => placed,
  status: ({ status }) => status,
  city: ({ city, country }) => `${city}, ${country}`,
  carrier: ({ carrier }) => carrier || 'none yet',
  delivered: ({ delivered }) => delivered || 'not yet',
  daysLate: daysLateOf,
  goodsCents: goodsCentsOf,
  shippingCents: ({ shippingCents }) => shippingCents,
  totalCents: totalCentsOf,
  chargedCents: ({ chargedCents }) => chargedCents,
};
const NOT_NAMED = new Set(['customer', 'city']);

export const compareOrders = tool({
  name: 'compare_orders',
  description:
    'Compares two to six orders: which goods they share, which only some of them have, in which facts they differ, ' +
    'and what they come to together. Money is in cents of a euro.',
  parameters: z.object({ orderIds: z.array(orderId).min(2).max(6) }),
  timeout: '10s',
  totalTimeout: '5 minutes',
  summary: ({ orderIds }) => String(orderIds),
  execute: ({ orderIds }) => compared(orderIds),
});

export type Compared = ReturnType<typeof compared>;

function compared(orderIds: readonly string[]) {
  const orders = [...new Set(orderIds.map((id) => id.toUpperCase()))].map(orderOf);
  const totals = orders.map(totalCentsOf);
  const goods = [...new Set(orders.flatMap(({ lines }) => lines.map(({ sku }) => sku)))].map((sku) => ({
    sku,
    product: productOf(sku),
    quantities: byOrder(orders, ({ lines }) => lines.find((line) => line.sku === sku)?.quantity ?? 0),
  }));
  const isShared = ({ quantities }: (typeof goods)[number]) => new Set(Object.values(quantities)).size === 1;
  return {
    orders: orders.map(({ id }) => id),
    sameCustomer: new Set(orders.map(({ email }) => email)).size === 1,
    sameGoods: goods.filter(isShared),
    otherGoods: goods.filter((item) => !isShared(item)),
    differences: Object.entries(ASPECTS)
      .filter(([, read]) => new Set(orders.map(read)).size > 1)
      .map(([what, read]) => (NOT_NAMED.has(what) ? { what } : { what, values: byOrder(orders, read) })),
    totals: {
      togetherCents: totals.reduce((sum, cents) => sum + cents, 0),
      lowestCents: Math.min(...totals),
      highestCents: Math.max(...totals),
    },
  };
}

function byOrder<T>(orders: readonly Order[], read: (order: Order) => T): Record<string, T> {
  return Object.fromEntries(orders.map((order) => [order.id, read(order)]));
}
