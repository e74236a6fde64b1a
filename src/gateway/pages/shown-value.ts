import { html } from 'hono/html';
import { amountOf } from '../../approvals/amount.ts';
import { isAnySensitive, isSensitive, MASK, type Sensitive } from '../../approvals/sensitive.ts';
import { isRecord } from '../../protocol/json.ts';
import { type Html, shown, shownLines } from './shown-text.ts';

/** Characters that a row shows in its line; longer texts have a box that scrolls. */
const LONGEST_LINE = 160;
/** Characters, of all texts together, that a page shows. */
const MOST_SHOWN = 262_144;
const MOST_LEVELS = 8;
const MOST_ROWS = 400;

/** How much of a page is left. */
interface Room {
  rows: number;
  characters: number;
}

/**
 * Arguments as a table, by name. Every value stays in its own cell, and no name can look like one of ours; what is
 * sensitive isn't there.
 */
export function argumentTable(
  args: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
  caption: string,
): Html {
  const room: Room = { rows: MOST_ROWS, characters: MOST_SHOWN };
  const names = Object.keys(args).sort();
  if (names.length === 0) return html`<p class="none">No arguments.</p>`;
  if (names.length > MOST_ROWS && !isAnySensitive(sensitive)) return shownJson(args, caption);
  return html`<table class="args" aria-label="${caption}"><tbody>
${names.map(
  (name) => html`<tr><th scope="row">${nameOf(name)}</th>
<td>${isSensitive(sensitive, name) ? masked() : shownValue(args[name], { name, room })}</td></tr>`,
)}
</tbody></table>${room.rows <= 0 || room.characters <= 0 ? cutNote() : ''}`;
}

/** Any JSON. */
export function shownJson(value: unknown, name: string): Html {
  const room: Room = { rows: MOST_ROWS, characters: MOST_SHOWN };
  return html`<div class="value">${shownValue(value, { name, room })}</div>${room.rows <= 0 || room.characters <= 0 ? cutNote() : ''}`;
}

/** The argument’s name where it is one, else in quotes. */
export function nameOf(name: string): Html {
  return /^[\w.-]+$/.test(name)
    ? html`<code>${name}</code>`
    : html`<code>${shown(JSON.stringify(name))}</code>`;
}

function masked(): Html {
  return html`<span class="masked">${MASK}</span>`;
}

interface Place {
  name: string;
  room: Room;
  level?: number;
}

function shownValue(value: unknown, { name, room, level = 0 }: Place): Html {
  room.rows -= 1;
  if (typeof value === 'string') return shownString(value, { name, room });
  const entries = entriesOf(value);
  if (entries === undefined)
    return html`<code class="${value === null ? 'nil' : typeof value}">${String(value)}</code>${shownAmount(name, value)}`;
  if (entries.length === 0)
    return html`<code class="nil">${Array.isArray(value) ? 'empty list' : 'empty object'}</code>`;
  if (level >= MOST_LEVELS || entries.length > room.rows) {
    return html`<span class="json">${shownString(JSON.stringify(value), { name, room })}</span>`;
  }
  const nested = { room, level: level + 1 };
  return html`<dl class="${Array.isArray(value) ? 'list' : 'object'}">${entries.map(
    ([key, item]) =>
      html`<div><dt>${Array.isArray(value) ? html`<span class="index">${key}</span>` : nameOf(key)}</dt><dd>${shownValue(item, { name: key, ...nested })}</dd></div>`,
  )}</dl>`;
}

function shownAmount(name: string, value: unknown): Html | '' {
  const amount = amountOf(name, value);
  return amount === undefined ? '' : html`<small class="amount">= ${amount}</small>`;
}

function shownString(text: string, { name, room }: Place): Html {
  if (text === '') return html`<code class="nil">empty text</code>`;
  const left = Math.max(0, room.characters);
  room.characters -= text.length;
  const part = text.length > left ? text.slice(0, left) : text;
  const rest =
    text.length > left
      ? html`<span class="cut">${text.length - left} more characters are not shown</span>`
      : '';
  if (text.length <= LONGEST_LINE && !text.includes('\n'))
    return html`<span class="text">${shown(part)}</span>${rest}`;
  const size = `${text.length} characters`;
  return html`<div class="long" tabindex="0" role="group" aria-label="${`${labelOf(name)}, ${size}`}"><pre>${shownLines(part)}</pre></div><small class="size">${size}</small>${rest}`;
}

/** Undefined for what has no parts. */
function entriesOf(value: unknown): [string, unknown][] | undefined {
  if (Array.isArray(value)) return value.map((item, index) => [String(index + 1), item]);
  return isRecord(value) ? Object.entries(value) : undefined;
}

function labelOf(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : 'value';
}

function cutNote(): Html {
  return html`<p class="warn"><strong>Not all of it is shown.</strong> It is too large for a page: look at the request with <code>holdfast approvals show</code> before you decide.</p>`;
}
