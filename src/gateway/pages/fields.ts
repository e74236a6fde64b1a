import { html } from 'hono/html';
import type { Html } from './shown-text.ts';

/** A field that a person fills in. */
export interface Field {
  /** Name in the form, made by the gateway only. */
  id: string;
  label: Html;
  hint?: Html | undefined;
  control: 'line' | 'lines' | 'json' | 'number' | 'choice' | 'secret';
  /** For a choice: the value to send, and its text. */
  options?: readonly (readonly [value: string, label: Html])[];
  optional?: boolean;
}

/** Value of a field, and its problem. */
export interface Filled {
  value?: string | undefined;
  problem?: string | undefined;
}

export function shownField(field: Field, { value = '', problem }: Filled): Html {
  const { id, label, hint, control, optional = false } = field;
  const described = [hint === undefined ? '' : `${id}-hint`, problem === undefined ? '' : `${id}-error`]
    .filter((each) => each !== '')
    .join(' ');
  const aids = {
    id,
    described: described === '' ? '' : html` aria-describedby="${described}"`,
    invalid: problem === undefined ? '' : html` aria-invalid="true"`,
    required: optional ? '' : html` required`,
  };
  const named = html`${label}${optional ? html` <small>optional</small>` : ''}`;
  const around = html`${hint === undefined ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}${controlOf(field, value, aids)}${
    problem === undefined ? '' : html`<p class="error" id="${id}-error">${problem}</p>`
  }`;
  if (control === 'choice' && (field.options?.length ?? 0) <= 3) {
    return html`<fieldset class="field"${aids.described}><legend>${named}</legend>${around}</fieldset>`;
  }
  return html`<div class="field"><label for="${id}">${named}</label>${around}</div>`;
}

interface Aids {
  id: string;
  described: Html | string;
  invalid: Html | string;
  required: Html | string;
}

function controlOf(
  { control, options = [], optional }: Field,
  value: string,
  { id, described, invalid, required }: Aids,
): Html {
  const told = html`${described}${invalid}`;
  const written = html` spellcheck="false" autocapitalize="off" autocomplete="off"`;
  switch (control) {
    case 'line':
      return html`<input type="text" id="${id}" name="${id}" value="${value}"${told}${written}>`;
    case 'number':
      return html`<input type="text" inputmode="decimal" class="code" id="${id}" name="${id}" value="${value}"${told}${written}>`;
    case 'secret':
      return html`<input type="password" id="${id}" name="${id}"${told}${required} spellcheck="false" autocapitalize="off" autocomplete="off">`;
    case 'choice':
      if (options.length > 3) {
        return html`<select id="${id}" name="${id}"${told}>${optional ? html`<option value="">Not said</option>` : value === '' ? html`<option value="">Choose…</option>` : ''}${options.map(
          ([each, label]) =>
            html`<option value="${each}"${each === value ? html` selected` : ''}>${label}</option>`,
        )}</select>`;
      }
      return html`<div class="choice">${options.map(
        ([each, label], index) =>
          html`<label><input type="radio" name="${id}" id="${id}-${index}" value="${each}"${each === value ? html` checked` : ''}${required}${invalid}>${label}</label>`,
      )}</div>`;
    // A line break right after the tag is no part of the text.
    default:
      return html`<textarea id="${id}" name="${id}" rows="${rowsOf(value)}"${control === 'json' ? html` class="code"` : ''}${told}${written}>
${value}</textarea>`;
  }
}

function rowsOf(value: string): number {
  const lines = value.split('\n').reduce((sum, line) => sum + 1 + Math.floor(line.length / 60), 0);
  return Math.min(14, Math.max(2, lines));
}

/** JSON that a person has written, or the problem of the text. */
export function parsedJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The parser's message quotes the text.
    return { problem: 'This isn’t JSON: put text in "quotes", and nothing after the value.' };
  }
}

export function parsedNumber(text: string): { value: number } | { problem: string } {
  const trimmed = text.trim();
  const value = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isFinite(value) ? { value } : { problem: 'Expected a number, with a point for decimals.' };
}
