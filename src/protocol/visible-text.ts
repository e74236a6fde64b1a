/** Characters that a terminal doesn't draw, draws elsewhere, or turns round. A blank is the only drawn character of its kind. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** Parts of emoji that can't be seen alone. */
const HAS_JOINED = /[\u200d\ufe0f\u{e0020}-\u{e007f}]/u;
const LINES = /([\n\t])/;
const LINES_AND_EMOJI = /([\n\t]|\p{RGI_Emoji})/v;

/**
 * Text on one line, as somebody must see it who decides by it: control, format and bidi characters, line ends and odd blanks stand
 * as their escapes. JSON stays the same JSON.
 */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, escapesOf);
}

/**
 * As {@link visibleText}, with the text's own line ends and tabs: for text that people read and don't decide by. Emoji are drawn as
 * Unicode lists them, though some of their parts can't be seen alone.
 */
export function visibleLines(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .split(HAS_JOINED.test(text) ? LINES_AND_EMOJI : LINES)
    .map((piece, index) => (index % 2 === 0 ? visibleText(piece) : piece))
    .join('');
}

/** A text in pieces, in order: visible text as it is, and escapes of invisible characters. */
export function visiblePieces(text: string): { text: string; isEscape: boolean }[] {
  const pieces: { text: string; isEscape: boolean }[] = [];
  let end = 0;
  for (const { index, 0: found } of text.matchAll(INVISIBLE)) {
    if (index > end) pieces.push({ text: text.slice(end, index), isEscape: false });
    pieces.push({ text: escapesOf(found), isEscape: true });
    end = index + found.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isEscape: false });
  return pieces;
}

/** The text itself, or its first characters and `…` where it has more than `longest`. */
export function excerpt(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`;
}

/** As {@link visibleText}, cut where it is long, with its size. */
export function visibleExcerpt(text: string, longest: number): string {
  if (text.length <= longest) return visibleText(text);
  return `${visibleText(text.slice(0, longest))}… ${text.length} characters`;
}

function escapesOf(found: string): string {
  return Array.from({ length: found.length }, (_, index) => found.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');
}

/** A value as JSON by lines, with escapes for invisible characters, which is the same JSON. */
export function visibleJson(value: unknown): string {
  return (JSON.stringify(value, undefined, 2) ?? 'null').split('\n').map(visibleText).join('\n');
}
