import { tool } from 'holdfast';
import { z } from 'zod';
import {
  daysLateOf,
  findOrders as found,
  type OrderQuery,
  PROBLEMS,
  problemsOf,
  productOf,
  totalCentsOf,
} from './order-book.ts';
import { type Order, STATUSES } from './order-file.ts';

const PAGE = 10;

export const findOrders = tool({
  name: 'find_orders',
  description:
    `Finds orders by customer, day, status or problem, the newest first, ${PAGE} to a page. Give what ` +
    'is known; all of it must hold. Money is in cents of a euro.',
  parameters: z.object({
    customer: z
      .string()
      .trim()
      .min(3)
      .optional()
      .describe('whole e-mail address, or first name, last name or both'),
    from: z.iso.date().optional().describe('placed on this day or later, YYYY-MM-DD'),
    to: z.iso.date().optional().describe('placed on this day or earlier, YYYY-MM-DD'),
    status: z.enum(STATUSES).optional(),
    problem: z.enum(PROBLEMS).optional(),
    page: z.int().min(1).default(1),
  }),
  timeout: '10s',
  totalTimeout: '5 minutes',
  // Who it is about; the result has no more than the ids.
  sensitive: ['customer'],
  summary: (args) =>
    Object.entries(args)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  execute: ({ page, ...query }) => pageOf(query, page),
});

export type Found = ReturnType<typeof pageOf>;

function pageOf(query: OrderQuery, page: number) {
  const orders = found(query);
  const first = (page - 1) * PAGE;
  return {
    found: orders.length,
    page,
    pages: Math.max(1, Math.ceil(orders.length / PAGE)),
    orders: orders.slice(first, first + PAGE).map(lineAbout),
  };
}

function lineAbout(order: Order) {
  return {
    orderId: order.id,
    placed: order.placed,
    status: order.status,
    goods: order.lines.map(({ sku, quantity }) => `${quantity} x ${productOf(sku)}`).join(', '),
    totalCents: totalCentsOf(order),
    daysLate: daysLateOf(order),
    problems: problemsOf(order),
  };
}
