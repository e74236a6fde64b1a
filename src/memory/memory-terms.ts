import { Breath } from '../artifacts/text-lines.ts';

/** Marks that texts of one language write or leave out: accents, Hebrew points, Arabic vowel signs. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]/g;

const RUN = /[\p{L}\p{N}\p{M}]+/gu;

/** Scripts that write without spaces between words, or add particles to words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const HAN = /\p{Script=Han}/u;

/** Characters of a word that count. */
const LONGEST_WORD = 64;

/** Characters by which forms of one word are the same: `invoice`, `invoices`. */
const STEM = 5;

/** Terms of a query that count. */
const MOST_TERMS = 32;

/** Work of a {@link Breath}. */
const ONE_CHARACTER = 15;

export interface MemoryTerms {
  /** Different ones. */
  terms: string[];
  /** Number of words in the text. */
  words: number;
}

/**
 * The terms by which a text is found, in all scripts, the same on every system: words without case and accents; the beginning of longer
 * words, with `~`; pairs of characters, and single ideographs, in scripts without spaces.
 */
export function memoryTerms(text: string): MemoryTerms {
  const terms = new Set<string>();
  let words = 0;
  for (const [run] of folded(text).matchAll(RUN)) {
    for (const word of run.replace(UNSPACED, ' ').split(' ')) {
      if (word === '') continue;
      words += 1;
      const letters = [...word].slice(0, LONGEST_WORD);
      terms.add(letters.join(''));
      if (letters.length >= STEM) terms.add(`${letters.slice(0, STEM).join('')}~`);
    }
    for (const [unspaced] of run.matchAll(UNSPACED)) {
      const letters = [...unspaced];
      words += Math.ceil(letters.length / 2);
      for (const [index, letter] of letters.entries()) {
        if (letters.length === 1 || HAN.test(letter)) terms.add(letter);
        if (index > 0) terms.add(`${letters[index - 1]}${letter}`);
      }
    }
  }
  return { terms: [...terms], words };
}

/** The terms of a query, the first ones of a long one. */
export function queryTerms(query: string): string[] {
  return memoryTerms(query).terms.slice(0, MOST_TERMS);
}

/** Each with the terms of its text, while others go on. */
export async function withTerms<Given extends { text: string }>(
  all: readonly Given[],
  signal: AbortSignal,
): Promise<(Given & MemoryTerms)[]> {
  const breath = new Breath(Number.POSITIVE_INFINITY, signal);
  const found: (Given & MemoryTerms)[] = [];
  for (const each of all) {
    await breath.take(ONE_CHARACTER * each.text.length);
    found.push({ ...each, ...memoryTerms(each.text) });
  }
  return found;
}

/**
 * Marks that follow each other are put into an order in the square of their number: at most 256 are, and 30 kept. No language's text
 * becomes four times as long, but some signs are 18 letters.
 */
function folded(text: string): string {
  const pieces = text.match(/.{1,256}/gsu) ?? [];
  return pieces
    .map((piece) => piece.normalize('NFKD'))
    .join('')
    .slice(0, 4 * text.length)
    .replace(MARKS, '')
    .replace(/(\p{M}{30})\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase();
}
