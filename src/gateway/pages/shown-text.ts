import { html } from 'hono/html';
import { visiblePieces } from '../../protocol/visible-text.ts';

export type Html = ReturnType<typeof html>;

/**
 * Text that others wrote, within a line: as it is, but for what can't be seen, moves or turns what stands around it, which is shown as
 * escapes that look like no text.
 */
export function shown(text: string): Html {
  return html`<bdi>${piecesOf(text)}</bdi>`;
}

/** Text of several lines: a mark at the end of each tells that it is the text's own. */
export function shownLines(text: string): Html {
  const lines = text.split('\n');
  return html`<bdi>${lines.map((line, index) =>
    index === lines.length - 1
      ? html`${piecesOf(line)}`
      : html`${piecesOf(line)}<span class="eol" aria-hidden="true">↵</span>\n`,
  )}</bdi>`;
}

/** Whether a form can hold a text without changing, or hiding, anything of it. */
export function isPlain(text: string): boolean {
  return text.split('\n').every((line) => visiblePieces(line).every(({ isEscape }) => !isEscape));
}

function piecesOf(text: string): Html[] {
  return visiblePieces(text).map((piece) =>
    piece.isEscape ? html`<span class="esc">${piece.text}</span>` : html`${piece.text}`,
  );
}
