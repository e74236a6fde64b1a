import { App, LlmAgent } from 'holdfast';
import { compareOrders } from './compare-orders.ts';
import { findOrders } from './find-orders.ts';
import { lookUpOrder } from './look-up-order.ts';
import { FIRST_DAY, TODAY } from './order-book.ts';
import { refund } from './refund.ts';
import { refundStatus } from './refund-status.ts';

export { deskScript as geminiScript } from './desk-script.ts';

const desk = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  description: 'Answers questions about orders and refunds them.',
  instruction: `You help the support staff of Fernhill Outdoor, a shop for camping and hiking gear.
Today is ${TODAY}; you know the orders from ${FIRST_DAY} on.
- Look orders up before you speak of them, and ask for what you need of several orders in parallel.
- Tools speak of cents; say euros.
- Refund only what you are clearly asked to, and never more than the order's refundableCents. Name the receipt.
- If a refund is refused, say why, with the numbers, and don't try another amount by yourself.
Be brief: a few sentences, no tables.`,
  tools: [lookUpOrder, findOrders, compareOrders, refund, refundStatus],
  generateContentConfig: { temperature: 0.2 },
});

export const app = new App({
  name: 'support',
  rootAgent: desk,
  durable: {
    prices: { 'gemini-2.5-flash': { input: 0.3, cachedInput: 0.075, output: 2.5 } },
    budgets: {
      turn: { modelCalls: 12, cost: 0.1, time: '30 minutes' },
      session: { cost: 2 },
    },
    runConfig: { streamingMode: 'sse' },
  },
});
