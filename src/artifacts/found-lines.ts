import { defined } from '../protocol/json.ts';
import type { TextLine } from './text-lines.ts';

/** A line that a search found, or one beside it. */
export interface FoundLine {
  line: number;
  text: string;
  /** Beside a line that matches. */
  context?: true;
}

const LONGEST_SHOWN = 1_000;
const LINE_OVERHEAD = 24;

/** Matching lines and those around them. */
export class FoundLines {
  readonly #context: number;
  readonly #limit: number;
  #left: number;
  readonly #found: FoundLine[] = [];
  #before: TextLine[] = [];
  #matches = 0;
  #after = 0;

  /** @param limits `context`: lines before and after each match; `limit`: matches; `characters`: of all lines. */
  constructor({ context, limit, characters }: { context: number; limit: number; characters: number }) {
    this.#context = context;
    this.#limit = limit;
    this.#left = characters;
  }

  get answer(): { matches: FoundLine[] } {
    return { matches: this.#found };
  }

  /** @returns false where no more can be taken. */
  add(line: TextLine, isMatch: boolean): boolean {
    if (!isMatch) {
      if (this.#after > 0) {
        this.#after -= 1;
        return this.#push(line, true);
      }
      if (this.#context > 0)
        this.#before = [...this.#before.slice(1 - this.#context), line].slice(-this.#context);
      return this.#matches < this.#limit;
    }
    if (this.#matches === this.#limit) return false;
    this.#matches += 1;
    const isRoom = this.#before.every((each) => this.#push(each, true));
    this.#before = [];
    this.#after = this.#context;
    return isRoom && this.#push(line, false);
  }

  #push({ number, text }: TextLine, isContext: boolean): boolean {
    const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN).toWellFormed()}…` : text;
    this.#left -= shown.length + LINE_OVERHEAD;
    if (this.#left < 0) return false;
    this.#found.push({ line: number, text: shown, ...defined({ context: isContext || undefined }) });
    return true;
  }
}
