import { call, type GeminiReplyLike, type GeminiScript, reply, text } from 'holdfast/testing';

/** As fast as a model that is read along. */
const PACE = { latencyMs: 120, chunkDelayMs: 20, wordsPerChunk: 2 };

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june'],
  ...['july', 'august', 'september', 'october', 'november', 'december'],
];

/** Answers of the mock Gemini server while there is no key. It understands "Order the report of June 2026" and "€238 without 19 % VAT". */
export const reportScript: GeminiScript = (_request, { functionResponses, userText }) => {
  const [response] = functionResponses;
  if (response !== undefined) return said(outcome(response.response));
  const amount = /€\s?(\d+(?:\.\d{2})?) without (\d+) ?%/i.exec(userText);
  if (amount !== null) {
    const [, euros, percent] = amount;
    return call('net_amount', { cents: Math.round(Number(euros) * 100), percent: Number(percent) });
  }
  const [, name = '', year = ''] = /report (?:of|for) ([a-z]+) (\d{4})/i.exec(userText) ?? [];
  const month = MONTHS.indexOf(name.toLowerCase()) + 1;
  if (month > 0) return call('order_report', { month: `${year}-${String(month).padStart(2, '0')}` });
  return said('Try “Order the report of June 2026”, or “What is €238 without 19 % VAT?”.');
};

function said(words: string): GeminiReplyLike {
  return reply(text(words), PACE);
}

function outcome(response: Record<string, unknown> = {}): string {
  const { status, error, report, month, orders, cents, bestDay, url, netCents, percent } = response;
  if (error !== undefined) return `There is no report: ${error}.`;
  if (status === 'ordered') return `Report ${report} of ${month} is ordered, and comes by itself. What else?`;
  if (netCents !== undefined) return `Without ${percent} % that is ${euros(netCents)}.`;
  return `Report ${report} of ${month} is there: ${orders} orders, ${euros(cents)}, best day ${bestDay}. See ${url}`;
}

function euros(cents: unknown): string {
  return `€${(Number(cents) / 100).toFixed(2)}`;
}
