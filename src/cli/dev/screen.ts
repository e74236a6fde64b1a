import { drawOver, widthOf } from '../run/draw-over.ts';
import { painted, type Style, terminalText } from '../terminal-text.ts';

/** A line that a person is typing, which other output must not run into. */
export interface TypedLine {
  hide(): void;
  show(): void;
}

/**
 * Where text for people goes: in order, whole lines between pieces of running text. While a person types nothing is written;
 * it comes after.
 */
export class Screen {
  readonly #answers: NodeJS.WriteStream;
  readonly #notes: NodeJS.WriteStream;
  #held: (() => void)[] | undefined;
  #midLine = false;
  /** The text of a started line may be drawn over. */
  #isDrawn = false;
  #prompt: TypedLine | undefined;
  #promptShown = false;

  /** @param notes remarks; the same stream as that of answers where both are a terminal. */
  constructor(answers: NodeJS.WriteStream, notes: NodeJS.WriteStream) {
    this.#answers = answers;
    this.#notes = answers.isTTY && notes.isTTY ? answers : notes;
  }

  /** Draws over a line; undefined where that can't be done. */
  get drawOver(): ((text: string) => void) | undefined {
    const stream = this.#notes;
    if (!stream.isTTY) return undefined;
    return (text) =>
      this.#do(() => {
        if (!this.#isDrawn) this.#break();
        drawOver(stream, painted(stream, 'dim', text.slice(0, widthOf(stream))));
        this.#midLine = true;
        this.#isDrawn = true;
      });
  }

  /** A piece of an answer, which need not end a line. */
  text(text: string, style?: Style): void {
    this.#do(() => {
      if (this.#isDrawn) this.#break();
      this.#answers.write(style === undefined ? terminalText(text) : painted(this.#answers, style, text));
      this.#midLine = !text.endsWith('\n');
    });
  }

  line(text: string, style?: Style): void {
    this.#line(this.#answers, text, style);
  }

  note(text: string, style: Style = 'dim'): void {
    this.#line(this.#notes, text, style);
  }

  paint(style: Style, text: string): string {
    return painted(this.#answers, style, text);
  }

  /** Ends a line that has begun. */
  endLine(): void {
    this.#do(() => this.#break());
  }

  /** Shows the prompt below all output from now on. */
  usePrompt(prompt: TypedLine | undefined): void {
    this.#hidePrompt();
    this.#prompt = prompt;
    this.#break();
    this.#showPrompt();
  }

  /** The typed line has ended; the prompt comes again with `usePrompt`, or below the next output. */
  typedLineEnded(): void {
    this.#promptShown = false;
    this.#midLine = false;
    this.#isDrawn = false;
  }

  /** From now on nothing is written. The line that has begun ends. */
  hold(): void {
    if (this.#held !== undefined) return;
    this.#hidePrompt();
    this.#break();
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const write of held) write();
  }

  #line(stream: NodeJS.WriteStream, text: string, style?: Style): void {
    this.#do(() => {
      this.#break();
      stream.write(`${style === undefined ? terminalText(text) : painted(stream, style, text)}\n`);
    });
  }

  #do(write: () => void): void {
    if (this.#held !== undefined) {
      this.#held.push(write);
      return;
    }
    this.#hidePrompt();
    write();
    if (!this.#midLine) this.#showPrompt();
  }

  #showPrompt(): void {
    if (this.#prompt === undefined || this.#promptShown) return;
    this.#prompt.show();
    this.#promptShown = true;
  }

  #hidePrompt(): void {
    if (!this.#promptShown) return;
    this.#prompt?.hide();
    this.#promptShown = false;
  }

  #break(): void {
    if (!this.#midLine) return;
    this.#answers.write('\n');
    this.#midLine = false;
    this.#isDrawn = false;
  }
}
