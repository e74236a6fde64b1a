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
  for (const passage of passagesIn(text, LONGEST_PASSAGE)) {
    if (passages.push(passage.text) === MOST_PASSAGES) break;
  }
  return passages;
}

/** Passages of a text, and at which character each starts. */
export function* passagesIn(
  text: string,
  longest: number,
): Generator<{ text: string; start: number }, undefined, void> {
  for (let start = 0; start < text.length; ) {
    const end = endOfPassage(text, start, longest);
    const passage = text.slice(start, end);
    const trimmed = passage.trimStart();
    if (trimmed !== '') yield { text: trimmed.trimEnd(), start: end - trimmed.length };
    start = end;
  }
}

function endOfPassage(text: string, start: number, longest: number): number {
  const furthest = start + longest;
  if (text.length <= furthest) return text.length;
  const last = text.slice(start + longest * EARLIEST_BREAK, furthest);
  for (const mark of BREAKS) {
    const found = last.lastIndexOf(mark);
    if (found >= 0) return furthest - last.length + found + mark.length;
  }
  // No surrogate pair is cut.
  const isPair = /[\ud800-\udbff]/.test(text.charAt(furthest - 1));
  return isPair ? furthest - 1 : furthest;
}
