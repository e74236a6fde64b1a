import { call, type GeminiReplyLike, type GeminiScript, reply, text } from 'holdfast/testing';
import type { CalendarEvent } from './calendar-service.ts';

/** As fast as a model that is read along. */
const PACE = { latencyMs: 120, chunkDelayMs: 20, wordsPerChunk: 4 };

/** Answers of the mock Gemini server while there is no key. It understands "What is in my calendar?" and "Add Lunch on 2026-12-04 12:00". */
export const calendarScript: GeminiScript = (_request, { functionResponses: [last], userText }) => {
  if (last !== undefined) return said(outcome(last.response));
  const [, title, start] = /\badd (.+) (?:on|at) (\d{4}-\d\d-\d\d \d\d:\d\d)/i.exec(userText) ?? [];
  if (start !== undefined) return call('add_event', { title, start });
  if (/calendar|events/i.test(userText)) return call('list_events', {});
  return said('Try “What is in my calendar?”, or “Add Lunch with Mira on 2026-12-04 12:00”.');
};

function said(words: string): GeminiReplyLike {
  return reply(text(words), PACE);
}

function outcome({ error, events, title, start }: Record<string, unknown> = {}): string {
  if (error !== undefined) return `The calendar is closed to me: ${error}.`;
  if (title !== undefined) return `${title} is in your calendar, on ${start}.`;
  const list = (events as CalendarEvent[]).map((event) => `${event.title} on ${event.start}`);
  return list.length === 0 ? 'Your calendar is empty.' : `You have ${list.join(', ')}.`;
}
