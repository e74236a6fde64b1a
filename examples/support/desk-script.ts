import type { FunctionCall, FunctionResponse } from '@google/genai';
import { calls, type GeminiRequest, type GeminiScript, reply, text } from 'holdfast/testing';
import { deskAnswer } from './desk-answer.ts';
import { type DeskRequest, deskRequest, messagesIn } from './desk-request.ts';
import type { LookedUp } from './look-up-order.ts';
import type { Reason } from './refund.ts';

type Call = FunctionCall & { name: string };

/** As fast as a model that is read along. */
const PACE = { latencyMs: 120, chunkDelayMs: 20, wordsPerChunk: 2 };

/** Answers of the mock Gemini server while there is no key: the words are scripted, the tools and their numbers are real. */
export const deskScript: GeminiScript = (request) => {
  const wanted = deskRequest(messagesIn(request));
  const responses = responsesIn(request);
  const next = responses.length === 0 ? firstCalls(wanted) : refundCalls(wanted, responses);
  return next.length > 0 ? calls(next) : reply(text(deskAnswer(wanted, responses)), PACE);
};

/** Of all steps since the last message. */
function responsesIn({ contents }: GeminiRequest): FunctionResponse[] {
  const said = contents.findLastIndex(
    ({ role, parts = [] }) => role === 'user' && parts.some((part) => part.text !== undefined),
  );
  return contents
    .slice(said + 1)
    .flatMap(({ parts = [] }) => parts.flatMap(({ functionResponse }) => functionResponse ?? []));
}

function firstCalls({ orderIds, named, search, refund, ...wants }: DeskRequest): Call[] {
  if (orderIds.length === 0) {
    return Object.keys(search).length === 0 ? [] : [{ name: 'find_orders', args: { ...search } }];
  }
  if (wants.wantsPayments) return orderIds.map((orderId) => ({ name: 'refund_status', args: { orderId } }));
  const isAboutOne = wants.wantsRefund && named.length === 0 && refund.orderId !== undefined;
  const looked = isAboutOne ? [refund.orderId] : orderIds;
  const comparison = { name: 'compare_orders', args: { orderIds: orderIds.slice(0, 2) } };
  return [
    ...looked.map((orderId) => ({ name: 'look_up_order', args: { orderId } })),
    ...(wants.wantsComparison && orderIds.length > 1 ? [comparison] : []),
  ];
}

function refundCalls({ wantsRefund, refund }: DeskRequest, responses: readonly FunctionResponse[]): Call[] {
  if (!wantsRefund || responses.some(({ name }) => name === 'refund')) return [];
  const order = responses
    .filter(({ name, response }) => name === 'look_up_order' && response?.error === undefined)
    .map(({ response }) => response as unknown as LookedUp)
    .find(({ orderId }) => orderId === refund.orderId);
  if (order === undefined) return [];
  const reason = refund.reason ?? reasonOf(order);
  const { refundableCents, overchargedCents, totalCents } = order.money;
  // With nothing left to refund the tool is asked all the same: it is the one to refuse.
  const all = reason === 'charged_twice' ? overchargedCents : refundableCents || totalCents;
  const cents = refund.cents ?? all;
  return cents > 0 ? [{ name: 'refund', args: { orderId: order.orderId, cents, reason } }] : [];
}

function reasonOf({ problems, status }: LookedUp): Reason {
  if (status === 'returned' || problems.includes('partly_returned')) return 'returned';
  return problems.includes('late') ? 'late' : 'goodwill';
}
