import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from 'holdfast';
import { type Order, type OrderStatus, readOrders, readRows } from './order-file.ts';

const fileOf = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

const orders = new Map(readOrders(fileOf('orders.csv')).map((order) => [order.id, order]));
const products = new Map(
  readRows(fileOf('products.csv')).map(({ sku = '', product = '' }) => [sku, product]),
);

const days = [...orders.values()].map(({ placed }) => placed).sort();

/** The export's first and last day; on the desk the last one is today. */
export const FIRST_DAY = days[0] ?? '';
export const TODAY = days.at(-1) ?? '';

/** What an eye for trouble sees at once. */
export const PROBLEMS = ['late', 'charged_too_much', 'partly_returned', 'returned_not_refunded'] as const;
export type Problem = (typeof PROBLEMS)[number];

/** @throws ToolError telling the model how to find the right id. */
export function orderOf(id: string): Order {
  const order = orders.get(id.toUpperCase());
  if (order !== undefined) return order;
  throw new ToolError(`there is no order ${id}; find_orders finds orders by their customer`, {
    code: 'NO_SUCH_ORDER',
    retryable: false,
  });
}

export function productOf(sku: string): string {
  return products.get(sku) ?? sku;
}

export function goodsCentsOf({ lines }: Order): number {
  return lines.reduce((sum, { quantity, unitCents }) => sum + quantity * unitCents, 0);
}

export function totalCentsOf(order: Order): number {
  return goodsCentsOf(order) + order.shippingCents;
}

/** Days after the promised one, up to today while the parcel is on its way; 0 if it is in time. */
export function daysLateOf({ status, promised, delivered }: Order): number {
  if (status === 'cancelled') return 0;
  const days = (Date.parse(delivered || TODAY) - Date.parse(promised)) / 86_400_000;
  return Math.max(0, days);
}

export function problemsOf(order: Order): Problem[] {
  const back = order.lines.filter(({ returned }) => returned > 0);
  const backCents = back.reduce((sum, { returned, unitCents }) => sum + returned * unitCents, 0);
  const has: Record<Problem, boolean> = {
    late: daysLateOf(order) > 0,
    charged_too_much: order.chargedCents > totalCentsOf(order),
    partly_returned: back.length > 0 && order.status !== 'returned',
    returned_not_refunded: order.refundedCents < backCents,
  };
  return PROBLEMS.filter((problem) => has[problem]);
}

export interface OrderQuery {
  /** E-mail address, or words of the name. */
  customer?: string;
  from?: string;
  to?: string;
  status?: OrderStatus;
  problem?: Problem;
}

/** The newest first. */
export function findOrders({ customer, from, to, status, problem }: OrderQuery): Order[] {
  return [...orders.values()]
    .filter(
      (order) =>
        (customer === undefined || isOf(order, customer)) &&
        (from === undefined || order.placed >= from) &&
        (to === undefined || order.placed <= to) &&
        (status === undefined || order.status === status) &&
        (problem === undefined || problemsOf(order).includes(problem)),
    )
    .sort((one, other) => other.placed.localeCompare(one.placed) || other.id.localeCompare(one.id));
}

export function euros(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}

function isOf({ name, email }: Order, customer: string): boolean {
  const wanted = plain(customer.trim());
  if (wanted.includes('@')) return email === wanted;
  const names = plain(name).split(' ');
  return wanted.split(/\s+/).every((word) => names.includes(word));
}

/** People type names without their accents. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll('ø', 'o').normalize('NFD').replace(/\p{M}/gu, '');
}
