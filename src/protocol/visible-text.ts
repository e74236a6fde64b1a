/** What a terminal doesn't draw, draws elsewhere, or turns round; a blank is the only one of its kind that is drawn. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/**
 * Text on one line, as somebody must see it who decides by it: control, format and bidi characters, line ends and odd blanks stand
 * as their escapes. JSON stays the same JSON.
 */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, escapesOf);
}

/** A text in pieces, in order: what is seen as it is, and escapes of what can't be. */
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
