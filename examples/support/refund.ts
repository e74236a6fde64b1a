import { ToolError, tool } from 'holdfast';
import { z } from 'zod';
import { euros, orderOf } from './order-book.ts';
import { orderId } from './order-id.ts';
import { deskPayments, OverRefund, type Payment } from './payments.ts';

const REASONS = ['ordered_twice', 'charged_twice', 'returned', 'damaged', 'late', 'goodwill'] as const;
export type Reason = (typeof REASONS)[number];
export type Refunded = Payment & { leftCents: number };

export const refund = tool({
  name: 'refund',
  description:
    'Pays money of one order back to the card that was charged, and returns the receipt. Cannot be undone. Look the ' +
    'order up first: its refundableCents are the most that can be paid.',
  parameters: z.object({
    orderId,
    cents: z.int().min(1).max(1_000_000).describe('how much, in cents of a euro: 1250 is €12.50'),
    reason: z.enum(REASONS),
  }),
  timeout: '30s',
  totalTimeout: '15 minutes',
  // A payment whose worker died is taken up again soon; under the same key it is made once all the same.
  heartbeatTimeout: '3s',
  retry: { maximumAttempts: 5, initialInterval: '1s', maximumInterval: '20s' },
  summary: (args) => `${euros(Number(args.cents))} for ${args.orderId}`,
  execute: ({ cents, reason, ...args }, context): Refunded => {
    const order = orderOf(args.orderId);
    const atMostCents = order.chargedCents - order.refundedCents;
    const payments = deskPayments();
    try {
      const { idempotencyKey } = context;
      const payment = payments.pay({ idempotencyKey, orderId: order.id, cents, reason, atMostCents });
      const refunds = context.state.get<Record<string, number>>('refunds') ?? {};
      context.state.set('refunds', { ...refunds, [payment.receipt]: cents });
      return { ...payment, leftCents: atMostCents - payments.paidCents(order.id) };
    } catch (error) {
      if (!(error instanceof OverRefund)) throw error;
      const earlier = payments.of(order.id).map(({ receipt, paidAt }) => `${receipt} of ${paidAt}`);
      const paid = earlier.length === 0 ? '' : ` by this desk: ${earlier.join(', ')}`;
      throw new ToolError(
        `${cents} cents are more than is left of ${order.id}: ${error.leftCents} cents can still be refunded ` +
          `(charged ${order.chargedCents} cents, paid back ${order.chargedCents - error.leftCents} cents${paid}); nothing was paid`,
        { code: 'OVER_REFUND', retryable: false, cause: error },
      );
    }
  },
});
