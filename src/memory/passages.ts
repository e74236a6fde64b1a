interface Spoken {
  readonly parts?: readonly { text?: string | undefined; thought?: boolean | undefined }[] | undefined;
}

/** Characters of a memory: a longer text is several. */
const LONGEST_PASSAGE = 4_000;
const EARLIEST_BREAK = 2 / 3;
/** Passages of a text; what comes behind them is not remembered. */
const MOST_PASSAGES = 250;
/** A passage may end at these, in its last third. */
const BREAKS = ['\n\n', '\n', '. ', ' '];

/** Text of a content's parts, thoughts left out. */
export function textOf(content: Spoken | undefined): string {
  const parts = content?.parts ?? [];
  const texts = parts.flatMap(({ text, thought }) => (text && !thought ? [text] : []));
  return texts.join(' ').trim();
}

/** A text in passages of at most 4,000 characters that end at a paragraph, a line, a sentence or a word where there is one. */
export function passagesOf(text: string): string[] {
  const passages: string[] = [];
  for (let start = 0; start < text.length && passages.length < MOST_PASSAGES; ) {
    const end = endOfPassage(text, start);
    const passage = text.slice(start, end).trim();
    if (passage !== '') passages.push(passage);
    start = end;
  }
  return passages;
}

function endOfPassage(text: string, start: number): number {
  const longest = start + LONGEST_PASSAGE;
  if (text.length <= longest) return text.length;
  const last = text.slice(start + LONGEST_PASSAGE * EARLIEST_BREAK, longest);
  for (const mark of BREAKS) {
    const found = last.lastIndexOf(mark);
    if (found >= 0) return longest - last.length + found + mark.length;
  }
  // No surrogate pair is cut.
  const isPair = /[\ud800-\udbff]/.test(text.charAt(longest - 1));
  return isPair ? longest - 1 : longest;
}
