import { z } from 'zod';

export const orderId = z
  .string()
  .regex(/^FH-\d{5}$/i, 'expected an order id such as FH-10342')
  .describe('id of an order: FH- and five digits');
