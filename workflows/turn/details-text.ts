import { visibleText } from '../../src/protocol/visible-text.ts';

const LONGEST_TEXT = 300;

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function sinceText(time: number | undefined): string {
  return timeText(' since', time);
}

/** A year that no calendar has is no reason to fail: anybody may have written it. */
const LAST_DAY = 8.64e15;

export function timeText(what: string, time: number | undefined): string {
  if (time === undefined || !(Math.abs(time) <= LAST_DAY)) return '';
  return `${what} ${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Step and place of a call within the turn: the end of its key. */
export function placeOf(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}

/** What clients and models wrote makes no links, no pictures and no other paragraphs, turns nothing round and hides nothing. */
export function plain(text: string): string {
  const short = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}…`;
  return visibleText(short.replace(/\s+/g, ' ')).replace(/[\\`*[\]<>]/g, '\\$&');
}

export function code(text: string): string {
  return `\`${text}\``;
}
