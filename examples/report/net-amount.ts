import { tool } from 'holdfast';
import { z } from 'zod';

/** Something quick, to talk about meanwhile. */
export const netAmount = tool({
  name: 'net_amount',
  description: 'What is left of an amount without its value added tax.',
  parameters: z.object({
    cents: z.int().min(1).describe('gross, in cents of a euro'),
    percent: z.number().min(0).max(100),
  }),
  execute: ({ cents, percent }) => ({ cents, percent, netCents: Math.round(cents / (1 + percent / 100)) }),
});
