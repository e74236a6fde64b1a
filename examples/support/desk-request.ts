import type { GeminiRequest } from 'holdfast/testing';
import { PROBLEMS, type Problem } from './order-book.ts';
import { type OrderStatus, STATUSES } from './order-file.ts';
import type { Reason } from './refund.ts';

interface Search {
  customer?: string;
  from?: string;
  to?: string;
  status?: OrderStatus;
  problem?: Problem;
  page?: number;
}

/** What a conversation is about: orders, or a search for some. */
interface Subject {
  orderIds: string[];
  search: Search;
}

/** What somebody wants of the desk, as far as a few patterns understand it. */
export interface DeskRequest extends Subject {
  /** Of the orders those that the last message itself names. */
  named: string[];
  wantsComparison: boolean;
  wantsRefund: boolean;
  wantsPayments: boolean;
  /** The order to refund, how much of it, and why; without an amount all that is left. */
  refund: { orderId?: string; cents?: number; reason?: Reason };
}

const ORDER_ID = /\bFH-\d{5}\b/gi;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/;
const NAME = /\b(?:of|by|from|for|did|has|customer)\s+(\p{Lu}[\p{L}-]+(?:\s+\p{Lu}[\p{L}-]+)+)/u;
const DAY = /\b\d{4}-\d{2}-\d{2}\b/g;
const PAGE = /\bpage (\d+)\b/i;
const NEXT_PAGE = /\b(?:next page|more)\b/i;
/** With its currency, with cents, or as what is to be refunded: a named amount doesn't mean all that is left. */
const AMOUNT =
  /€\s?(\d+(?:[.,]\d{1,2})?)|\b(\d+(?:[.,]\d{1,2})?)\s?(?:€|EUR\b|euros?\b)|\b(\d+[.,]\d{2})\b|^\S+\s+(\d+)\s+(?:of|from|for|on)\b/i;
const BACK_REFERENCE = /\b(?:it|its|that|this|they|them|both|one|second|first|latter|former|again)\b/i;
const COMPARISON = /\b(?:compare|comparison|differ\w*|versus|vs|same)\b/i;
const REFUND = /\b(?:refund|reimburse|pay(?:ing)? back|money back|give back)\b/i;
const PAYMENTS =
  /\b(?:was|were|been|have|has|did|any|which|what|list|show)\b[^.?!]*\b(?:refunds|refunded|payments?|paid back)\b[^.!]*\?|\brefund status\b|\bpayments\b/i;
const PROBLEM_WORDS: Record<Problem, RegExp> = {
  late: /\b(?:late|delayed|overdue)\b/i,
  charged_too_much: /\b(?:charged|billed) (?:twice|too much)\b|\b(?:double|duplicate) charges?\b/i,
  partly_returned: /\bpart(?:ly|ially)[ -]returned\b/i,
  returned_not_refunded: /\breturned\b.*\bnot (?:yet )?(?:been )?refunded\b/i,
};
const REASON_WORDS: readonly (readonly [Reason, RegExp])[] = [
  ['charged_twice', PROBLEM_WORDS.charged_too_much],
  ['ordered_twice', /\b(?:twice|double|duplicate)\b/i],
  ['damaged', /\b(?:damaged|broken|torn|leak\w*)\b/i],
  ['late', PROBLEM_WORDS.late],
];

/** Reads the last message; what it only hints at ("refund it", "page 2") is what those before were about. */
export function deskRequest(messages: readonly string[]): DeskRequest {
  const said = messages.at(-1) ?? '';
  const nothing: Subject = { orderIds: [], search: {} };
  const subject = messages.reduce(subjectAfter, nothing);
  const asksForPayments = PAYMENTS.test(said);
  const asks = [REFUND, COMPARISON, PAYMENTS, PAGE, NEXT_PAGE, BACK_REFERENCE].some((words) =>
    words.test(said),
  );
  return {
    ...(asks || namesSomething(said) ? subject : nothing),
    named: idsIn(said),
    wantsComparison: COMPARISON.test(said),
    wantsPayments: asksForPayments,
    wantsRefund: REFUND.test(said) && !asksForPayments,
    refund: refundIn(said, subject.orderIds),
  };
}

/** Texts of the people who write to the desk, the oldest first. */
export function messagesIn({ contents }: GeminiRequest): string[] {
  return contents.flatMap(({ role, parts = [] }) => {
    const text = parts.map((part) => part.text ?? '').join('');
    return role === 'user' && text !== '' ? [text] : [];
  });
}

function subjectAfter(before: Subject, said: string): Subject {
  const orderIds = idsIn(said);
  if (orderIds.length > 0) return { orderIds, search: {} };
  const search = searchIn(said);
  const isNew = search.customer !== undefined || search.from !== undefined;
  if (!isNew && BACK_REFERENCE.test(said) && before.orderIds.length > 0) return before;
  if (Object.keys(search).length > 0) return { orderIds, search };
  const { page = 1 } = before.search;
  if (PAGE.test(said)) return { ...before, search: { ...before.search, page: Number(PAGE.exec(said)?.[1]) } };
  return NEXT_PAGE.test(said) ? { ...before, search: { ...before.search, page: page + 1 } } : before;
}

function namesSomething(text: string): boolean {
  return idsIn(text).length > 0 || Object.keys(searchIn(text)).length > 0;
}

function idsIn(text: string): string[] {
  return [...new Set([...text.matchAll(ORDER_ID)].map(([id]) => id.toUpperCase()))].slice(0, 6);
}

function searchIn(text: string): Search {
  const customer = EMAIL.exec(text)?.[0] ?? NAME.exec(text)?.[1];
  const [from, to] = [...text.matchAll(DAY)].map(([day]) => day);
  const problem = PROBLEMS.find((name) => PROBLEM_WORDS[name].test(text));
  const isStatus = (word: OrderStatus) =>
    problem === undefined && new RegExp(`\\b${word}\\b`, 'i').test(text);
  const status = STATUSES.find(isStatus);
  return {
    ...(customer === undefined ? {} : { customer }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(status === undefined ? {} : { status }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function refundIn(text: string, orderIds: readonly string[]): DeskRequest['refund'] {
  const after = text.slice(REFUND.exec(text)?.index ?? 0);
  const amount = AMOUNT.exec(after)
    ?.slice(1)
    .find((digits) => digits !== undefined);
  const reason = REASON_WORDS.find(([, words]) => words.test(text))?.[0];
  const isSecond = /\b(?:second|latter|later|last|newer|other)\b/i.test(after);
  const isFirst = /\b(?:first|former|earlier|older)\b/i.test(after);
  const position = orderIds.length === 1 || isFirst ? 0 : isSecond ? 1 : orderIds.length;
  const orderId = idsIn(after)[0] ?? orderIds[position];
  return {
    ...(orderId === undefined ? {} : { orderId }),
    ...(amount === undefined ? {} : { cents: Math.round(Number(amount.replace(',', '.')) * 100) }),
    ...(reason === undefined ? {} : { reason }),
  };
}
