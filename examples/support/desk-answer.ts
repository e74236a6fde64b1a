import type { FunctionResponse } from '@google/genai';
import type { Compared } from './compare-orders.ts';
import type { DeskRequest } from './desk-request.ts';
import type { Found } from './find-orders.ts';
import type { LookedUp } from './look-up-order.ts';
import { euros } from './order-book.ts';
import type { Refunded } from './refund.ts';
import type { RefundStatus } from './refund-status.ts';

const WELCOME =
  'I look up, compare and refund orders. Try “Where is FH-12787?”, “Which orders of ' +
  'ragnhild.solbakken@example.com are there?”, “Which orders were charged twice?” or “Refund €20 of FH-12343”.';

/** What a step's tools have found, in sentences. */
export function deskAnswer(wanted: DeskRequest, responses: readonly FunctionResponse[]): string {
  if (responses.length === 0) return WELCOME;
  const of = <Result>(tool: string): Result[] =>
    responses
      .filter(({ name, response }) => name === tool && response?.error === undefined)
      .map(({ response }) => response as unknown as Result);
  const comparisons = of<Compared>('compare_orders');
  const compared = comparisons.flatMap(({ orders }) => orders);
  const orders = of<LookedUp>('look_up_order');
  const toRefund = responses.some(({ name }) => name === 'refund') ? wanted.refund.orderId : undefined;
  const isTold = ({ orderId }: LookedUp) => compared.includes(orderId) || orderId === toRefund;
  const isOpen = wanted.wantsRefund && wanted.refund.orderId === undefined && orders.length > 1;
  return [
    ...comparisons.map(comparison),
    ...of<Refunded>('refund').map(receipt),
    ...responses.flatMap(refusal),
    ...orders.filter((order) => !isTold(order)).map(description),
    ...of<Found>('find_orders').map(list),
    ...of<RefundStatus>('refund_status').map(payments),
    ...(isOpen ? [`Which of ${orders.map(({ orderId }) => orderId).join(' and ')} am I to refund?`] : []),
  ].join('\n\n');
}

function comparison({ orders, sameCustomer, sameGoods, otherGoods, differences, totals }: Compared): string {
  const amounts = (quantities: Record<string, number>) =>
    Object.entries(quantities)
      .filter(([, quantity]) => quantity > 0)
      .map(([id, quantity]) => `${quantity} in ${id}`)
      .join(', ');
  const shared = sameGoods.map(({ product }) => product).join(', ');
  const others = otherGoods
    .map(({ product, quantities }) => `${product} (${amounts(quantities)})`)
    .join(', ');
  const facts = differences.flatMap(({ what, values = {} }) => {
    const wanted = ['placed', 'status', 'shippingCents', 'totalCents'].includes(what);
    const each = Object.values(values).map((value) =>
      what.endsWith('Cents') ? euros(Number(value)) : value,
    );
    return wanted ? [`${what.replace('Cents', '')} ${each.join(' against ')}`] : [];
  });
  return [
    `${orders.join(' and ')} are orders of ${sameCustomer ? 'the same customer' : 'different customers'}.`,
    shared === '' ? 'They share no goods.' : `Both have: ${shared}.`,
    others === '' ? '' : `Not the same: ${others}.`,
    facts.length === 0 ? '' : `They differ in ${facts.join('; ')}.`,
    `Together they come to ${euros(totals.togetherCents)}.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function description({ orderId, placed, status, items, delivery, money, problems }: LookedUp): string {
  const goods = items.map(({ quantity, product }) => `${quantity} x ${product}`).join(', ');
  const { shipped, carrier, tracking, promised, delivered, daysLate } = delivery;
  const late = daysLateIn(daysLate);
  const way =
    delivered !== undefined
      ? `It arrived on ${delivered}${late || ', in time'}.`
      : shipped !== undefined
        ? `${carrier} has had it since ${shipped} (tracking ${tracking}); it was promised for ${promised} and is still on its way${late}.`
        : status === 'cancelled'
          ? 'It was never sent.'
          : `It has not left yet; it is promised for ${promised}.`;
  const back = items.filter(({ returned }) => returned > 0);
  return [
    `${orderId} of ${placed} is ${status}: ${goods}, ${euros(money.totalCents)} in all.`,
    way,
    back.length > 0
      ? `Came back: ${back.map(({ returned, product }) => `${returned} x ${product}`).join(', ')}.`
      : '',
    money.overchargedCents > 0 ? `The card was charged ${euros(money.overchargedCents)} too much.` : '',
    money.refundedCents > 0 ? `${euros(money.refundedCents)} were paid back.` : '',
    problems.includes('returned_not_refunded') && money.refundedCents === 0
      ? 'Nothing was paid back yet.'
      : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function receipt({ receipt: number, orderId, cents, leftCents }: Refunded): string {
  const left =
    leftCents > 0 ? `${euros(leftCents)} of it can still be refunded` : 'nothing of it is left to refund';
  return `I have refunded ${euros(cents)} of ${orderId}; the receipt is ${number}, and ${left}.`;
}

function list({ found, page, pages, orders }: Found): string {
  if (found === 0) return 'There is no such order.';
  const lines = orders.map(({ orderId, placed, status, goods, totalCents, daysLate }) => {
    return `- ${orderId}, ${placed}, ${status}${daysLateIn(daysLate)}: ${goods}, ${euros(totalCents)}`;
  });
  const head = `${found} ${found === 1 ? 'order fits' : 'orders fit'}${pages > 1 ? `, page ${page} of ${pages}` : ''}:`;
  return [head, ...lines].join('\n');
}

function payments({ orderId, payments: made, refundedBeforeCents, leftCents }: RefundStatus): string {
  const each = made.map(({ receipt: number, cents, reason }) => `${euros(cents)} (${number}, ${reason})`);
  const before = refundedBeforeCents > 0 ? [`${euros(refundedBeforeCents)} before`] : [];
  const paid = [...before, ...each].join(', ') || 'nothing';
  return `Of ${orderId} was paid back: ${paid}. ${euros(leftCents)} can still be refunded.`;
}

function refusal({ name, response }: FunctionResponse): string[] {
  if (typeof response?.error !== 'string') return [];
  const said = response.error
    .replace(/^Error in tool '\w+': /, '')
    .replace(/(\d+) cents/g, (_, cents) => euros(Number(cents)));
  if (name === 'refund') {
    const why = said.includes('by this desk') ? ' Payments of earlier runs are kept: see .holdfast.' : '';
    return [`The refund was refused: ${said}.${why}`];
  }
  const [problem = ''] = said.split(';');
  return [`${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`];
}

function daysLateIn(days: number): string {
  return days === 0 ? '' : `, ${days} ${days === 1 ? 'day' : 'days'} late`;
}
