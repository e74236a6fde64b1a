import { tool } from 'holdfast';
import { z } from 'zod';
import { euros } from './euros.ts';
import { theatrePayments } from './payments.ts';
import { APPROVERS, HEAD_OF_FINANCE } from './people.ts';

/** Up to this much is paid at once, more by an approval. */
const PAID_AT_ONCE = 100_00;
/** More than this takes two people. */
const PAID_BY_ONE = 1_000_00;

export const refund = tool({
  name: 'refund',
  description: 'Pays money of one booking back, and returns the receipt. Cannot be undone.',
  parameters: z.object({
    booking: z.string().regex(/^B-\d{4}$/, 'expected a booking like B-1042'),
    cents: z.int().min(1).max(10_000_00).describe('how much, in cents of a euro: 1250 is €12.50'),
  }),
  summary: (args) => `${euros(Number(args.cents))} for ${args.booking}`,

  requireConfirmation: ({ cents }) =>
    cents > PAID_AT_ONCE && { approval: { quorum: cents > PAID_BY_ONE ? 2 : 1 } },
  confirmationHint: ({ booking, cents }) => `Pay ${euros(cents)} of ${booking} back?`,
  approval: {
    approvers: APPROVERS,
    notRequester: true,
    allowEdit: true,
    expiresIn: '2 days',
    onExpiry: 'escalate',
    escalateTo: [HEAD_OF_FINANCE],
    escalateAfter: Number(process.env.REFUNDS_ESCALATE_SECONDS) * 1_000 || '4 hours',
  },

  execute: ({ booking, cents }, context) => theatrePayments().pay(context.idempotencyKey, booking, cents),
});
