import { tool } from 'holdfast';
import { z } from 'zod';
import { orderOf } from './order-book.ts';
import { orderId } from './order-id.ts';
import { deskPayments } from './payments.ts';

export const refundStatus = tool({
  name: 'refund_status',
  description:
    'Lists the payments that this desk has made for an order, with what was paid back before and what is left. ' +
    'Money is in cents of a euro.',
  parameters: z.object({ orderId }),
  timeout: '10s',
  totalTimeout: '5 minutes',
  summary: (args) => String(args.orderId),
  execute: ({ orderId }) => statusOf(orderId),
});

export type RefundStatus = ReturnType<typeof statusOf>;

function statusOf(orderId: string) {
  const { id, chargedCents, refundedCents } = orderOf(orderId);
  const payments = deskPayments().of(id);
  const paidCents = payments.reduce((sum, { cents }) => sum + cents, 0);
  return {
    orderId: id,
    chargedCents,
    refundedBeforeCents: refundedCents,
    payments,
    leftCents: chargedCents - refundedCents - paidCents,
  };
}
