import { html } from 'hono/html';
import type { Html } from './shown-text.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

const CLOCK = new Intl.DateTimeFormat('en-GB', {
  ...({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' } as const),
  timeZone: 'UTC',
});
const WORDS = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** A moment by the clock, and how far away it is: `21 Nov 2026, 14:45 UTC (in 2 hours)`. */
export function shownTime(at: number, now: number): Html {
  const date = new Date(at);
  return html`<time datetime="${date.toISOString()}">${CLOCK.format(date)} UTC</time> <span class="soft">(${distance(at - now)})</span>`;
}

/** `in 2 hours`, `5 minutes ago`, `just now`. */
export function distance(ms: number): string {
  const [unit, length] = UNITS.find(([, each]) => Math.abs(ms) >= 2 * each) ?? ['minute', 60_000];
  const count = Math.trunc(ms / length);
  if (count === 0) return ms > 0 ? 'in less than a minute' : 'just now';
  return WORDS.format(count, unit);
}
