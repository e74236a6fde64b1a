import { setImmediate } from 'node:timers/promises';

/** A line of a text, or a piece of one that is very long. */
export interface TextLine {
  /** From 1. */
  number: number;
  text: string;
  /** The line goes on in the next piece. */
  isCut: boolean;
}

/** Characters of a piece of a line. */
export const LONGEST_PIECE = 4_000;

/**
 * The lines of a text of UTF-8, some at a time, as its bytes come. Bytes that are no UTF-8 are `�`. A line that is longer than 4,000
 * characters comes in pieces of the same number.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine[], void, void> {
  const decoder = new TextDecoder();
  let number = 1;
  let rest = '';
  let isCut = false;
  for await (const block of bytes) {
    rest += decoder.decode(block, { stream: true });
    const taken: TextLine[] = [];
    let start = 0;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      const last = rest.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end;
      for (const piece of piecesOf(rest.slice(start, last), number)) taken.push(piece);
      number += 1;
      start = end + 1;
    }
    rest = rest.slice(start);
    while (rest.length > LONGEST_PIECE) {
      const at = boundary(rest, LONGEST_PIECE);
      taken.push({ number, text: rest.slice(0, at), isCut: true });
      rest = rest.slice(at);
    }
    isCut = taken.at(-1)?.isCut === true;
    if (taken.length > 0) yield taken;
  }
  rest += decoder.decode();
  if (rest !== '' || isCut) yield [...piecesOf(rest, number)];
}

function* piecesOf(line: string, number: number): Generator<TextLine, void, void> {
  let start = 0;
  while (line.length - start > LONGEST_PIECE) {
    const at = start + boundary(line.slice(start, start + LONGEST_PIECE + 1), LONGEST_PIECE);
    yield { number, text: line.slice(start, at), isCut: true };
    start = at;
  }
  yield { number, text: line.slice(start), isCut: false };
}

/** No surrogate pair is cut. */
function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}

/** Work that others wait for, or one piece of a line: characters, each times the steps of a pattern. They take 65 ns at most, so 26 ms. */
const MOST_AT_ONCE = 400_000;

/** Of a line, however short. */
const ONE_TAKE = 10;
let lastPause: Promise<void> = Promise.resolve();

/** Lets others have the process after some work of a long search, and ends the search after all of its work. */
export class Breath {
  #left: number;
  #since = 0;
  readonly #signal: AbortSignal;

  /** @param most work of the whole search. */
  constructor(most: number, signal: AbortSignal) {
    this.#left = most;
    this.#signal = signal;
  }

  /** @returns false for work that is more than what is left. */
  async take(work: number): Promise<boolean> {
    this.#left -= work;
    this.#since += ONE_TAKE + work;
    if (this.#since > MOST_AT_ONCE) {
      this.#since = ONE_TAKE + work;
      // Each turn of the event loop has one search go on, however many there are.
      lastPause = lastPause.then(() => setImmediate());
      await lastPause;
      this.#signal.throwIfAborted();
    }
    return this.#left >= 0;
  }
}
