import { tool } from 'holdfast';
import { z } from 'zod';
import { daysLateOf, orderOf, problemsOf, productOf, totalCentsOf } from './order-book.ts';
import { orderId } from './order-id.ts';
import { deskPayments } from './payments.ts';

export const lookUpOrder = tool({
  name: 'look_up_order',
  description:
    'Tells everything about one order: customer, goods, delivery, what was charged and paid back, and what can ' +
    'still be refunded. All money is in cents of a euro.',
  parameters: z.object({ orderId }),
  timeout: '10s',
  totalTimeout: '5 minutes',
  // It has the customer's name and address.
  sensitive: ['result'],
  summary: (args) => String(args.orderId),
  execute: ({ orderId }) => lookUp(orderId),
});

export type LookedUp = ReturnType<typeof lookUp>;

function lookUp(id: string) {
  const order = orderOf(id);
  const { placed, status, name, email, city, country, shippingCents, chargedCents } = order;
  const { carrier, tracking, shipped, promised, delivered } = order;
  const refundedCents = order.refundedCents + deskPayments().paidCents(order.id);
  const totalCents = totalCentsOf(order);
  return {
    orderId: order.id,
    placed,
    status,
    customer: { name, email, city, country },
    items: order.lines.map((line) => ({ product: productOf(line.sku), ...line })),
    delivery: {
      ...(shipped === '' ? {} : { carrier, tracking, shipped }),
      promised,
      ...(delivered === '' ? {} : { delivered }),
      daysLate: daysLateOf(order),
    },
    money: {
      shippingCents,
      totalCents,
      chargedCents,
      overchargedCents: Math.max(0, chargedCents - refundedCents - totalCents),
      refundedCents,
      refundableCents: chargedCents - refundedCents,
    },
    problems: problemsOf(order),
  };
}
