import { calls, type GeminiScript, reply, text } from 'holdfast/testing';
import { euros } from './euros.ts';

/** As fast as a model that is read along. */
const PACE = { latencyMs: 120, chunkDelayMs: 20, wordsPerChunk: 2 };

const REFUND = /€\s?(\d+(?:\.\d{2})?) (?:of|for|from) (B-\d{4})\b/gi;

/** Answers of the mock Gemini server while there is no key. It understands "Refund €80 of B-1001 and €340 of B-1002". */
export const refundsScript: GeminiScript = (_request, { functionResponses, userText }) => {
  if (functionResponses.length > 0) {
    return reply(text(functionResponses.map(({ response }) => outcome(response)).join('\n')), PACE);
  }
  const wanted = [...userText.matchAll(REFUND)].map(([, amount, booking = '']) => ({
    name: 'refund',
    args: { booking: booking.toUpperCase(), cents: Math.round(Number(amount) * 100) },
  }));
  return wanted.length > 0 ? calls(wanted) : text('Try “Refund €80 of B-1001 and €340 of B-1002”.');
};

function outcome(response: Record<string, unknown> = {}): string {
  const { receipt, booking, cents, error, reason } = response;
  if (error === undefined) return `I have paid ${euros(Number(cents))} of ${booking} back: ${receipt}.`;
  return `One refund was not paid: ${error}${reason === undefined ? '' : ` (${reason})`}`;
}
