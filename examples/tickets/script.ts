import {
  call,
  type GeminiReplyLike,
  type GeminiRequest,
  type GeminiScript,
  reply,
  text,
} from 'holdfast/testing';
import { euros } from '../refunds/euros.ts';
import type { Invoice } from './billing-service.ts';
import type { Ticket } from './ticket-system.ts';

/** As fast as a model that is read along. */
const PACE = { latencyMs: 250, chunkDelayMs: 20, wordsPerChunk: 4 };

/** Results of this turn's calls, by tool. */
interface Results {
  read_ticket?: { output: Ticket };
  list_invoices?: { invoices: Invoice[] };
  refund_invoice?: { refund: string; cents: number };
  close_ticket?: { output: Ticket };
}

/** Answers of the mock Gemini server while there is no key: the words are scripted, tickets and invoices are the services'. */
export const ticketsScript: GeminiScript = (request, { functionResponses: [last], userText }) => {
  const id = /\bT-\d+\b/.exec(userText)?.[0];
  if (id === undefined) return said('Name a ticket: try “Please answer T-1042”.');
  if (last?.response?.error !== undefined) {
    const { error, reason } = last.response;
    return said(`${id} isn’t done: ${error}${reason === undefined ? '' : ` (${reason})`}`);
  }
  const results = resultsIn(request);
  const ticket = results.read_ticket?.output;
  if (ticket === undefined) return call('read_ticket', { id });
  const { refund_invoice: refund, close_ticket: closed } = results;
  if (closed !== undefined || ticket.status === 'closed') {
    return said(`${id} is closed. I have written to ${ticket.from}: “${(closed?.output ?? ticket).reply}”`);
  }
  const { invoices } = results.list_invoices ?? {};
  if (invoices === undefined) return call('list_invoices', { customer_id: ticket.customerId });
  const double = doubleIn(invoices);
  if (refund === undefined && double !== undefined && /\bpay\b.*\bback\b/i.test(ticket.text)) {
    const reason = `${double.month} was charged twice`;
    return call('refund_invoice', { invoice_id: double.id, cents: double.cents, reason });
  }
  const answer =
    refund === undefined
      ? 'You have paid each month once.'
      : `We have paid ${euros(refund.cents)} back (${refund.refund}). Sorry!`;
  return call('close_ticket', { id, reply: answer });
};

function said(words: string): GeminiReplyLike {
  return reply(text(words), PACE);
}

/** The newer one of two invoices of a month. */
function doubleIn(invoices: readonly Invoice[]): Invoice | undefined {
  return invoices.find(
    ({ month, refundedCents }, index) =>
      refundedCents === 0 && invoices.slice(0, index).some((other) => other.month === month),
  );
}

function resultsIn({ contents }: GeminiRequest): Results {
  const question = contents.findLastIndex(
    ({ role, parts = [] }) => role === 'user' && parts.some((part) => part.text !== undefined),
  );
  const responses = contents
    .slice(question)
    .flatMap(({ parts = [] }) => parts.flatMap(({ functionResponse }) => functionResponse ?? []));
  return Object.fromEntries(responses.map(({ name, response }) => [name, response]));
}
