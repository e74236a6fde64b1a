/** What a terminal doesn't draw, draws elsewhere, or turns round; a blank is the only one of its kind that is drawn. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/**
 * Text on one line, as somebody must see it who decides by it: control, format and bidi characters, line ends and odd blanks stand
 * as their escapes. JSON stays the same JSON.
 */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (found) =>
    Array.from({ length: found.length }, (_, index) => found.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** As {@link visibleText}, cut where it is long, with its size. */
export function visibleExcerpt(text: string, longest: number): string {
  if (text.length <= longest) return visibleText(text);
  return `${visibleText(text.slice(0, longest))}… ${text.length} characters`;
}
