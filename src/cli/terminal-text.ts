import { styleText } from 'node:util';
import { visibleLines } from '../protocol/visible-text.ts';

export type Style = Parameters<typeof styleText>[0];

export const ESCAPE = '\u001b';

/** Escapes that {@link painted} writes around a text: bold, dim, and colours of letters. */
const OWN_COLOURS = new RegExp(`(${ESCAPE}\\[(?:[12]|22|3[1-6]|39)m)`);

/**
 * A text as a terminal gets it: nothing in it is unseen, turns round, or moves the cursor, from any writer. The colours of
 * {@link painted} stay; what others wrote should have gone through it before, so that it has none.
 */
export function terminalText(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((piece, index) => (index % 2 === 0 ? visibleLines(piece) : piece))
    .join('');
}

/** A text of anybody's in a colour, where the stream is a terminal that has any. */
export function painted(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, terminalText(text), { stream });
}
