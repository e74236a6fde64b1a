import type { FollowedEvent, StreamItem } from '../../client/stream/stream-item.ts';
import { speakerOf } from './speaker.ts';

type Of<Type> = Extract<StreamItem, { type: Type }>;

export interface LineWriter {
  /** Begins the line that an agent's text stands on. */
  begin(agent: string): void;
  write(text: string): void;
  /** Ends the line. */
  end(): void;
  /** A remark on a line of its own. */
  remark(text: string): void;
}

const NONE = { key: '', next: 0, shown: '', isWhole: true };

/** Writes what a model is writing on its agent's line, and of its event then only what is missing there. */
export class LiveLine {
  readonly #out: LineWriter;
  #step = { ...NONE };
  #isOpen = false;

  constructor(out: LineWriter) {
    this.#out = out;
  }

  text({ runKey, step, index, agent, text, thought }: Of<'text'>): void {
    const key = `${runKey}.${step}`;
    // Agents may write at the same time: one line at a time is for people, and the others' events have it all.
    if (this.#isOthers(runKey)) return;
    if (this.#step.key !== key) this.#begin(key);
    // Text with a gap would read as if it were whole; its event has it all.
    if (index !== this.#step.next) this.#step.isWhole = false;
    this.#step.next = index + 1;
    if (thought || !this.#step.isWhole) return;
    this.#step.shown += text;
    this.#write(agent, text);
  }

  dropped({ runKey, step }: Of<'text dropped'>): void {
    if (this.#step.key !== `${runKey}.${step}`) return;
    const { shown } = this.#step;
    this.#begin('');
    if (shown !== '') this.#out.remark('(this answer was dropped)');
  }

  /** Writes the rest of an event's text where its beginning stands there; false where nothing of it does. */
  complete({ runKey, step, event, holdfast }: FollowedEvent, text: string): boolean {
    const { key, shown } = this.#step;
    if (key !== `${runKey}.${step}`) return false;
    const isBegun = shown !== '' && text.startsWith(shown);
    const speaker = speakerOf(holdfast === undefined ? {} : { holdfast }, event.author ?? '');
    if (isBegun && text.length > shown.length) this.#write(speaker, text.slice(shown.length));
    this.#begin('');
    return isBegun;
  }

  /** Whether another run's line has begun, whose event has not come. */
  #isOthers(runKey: string): boolean {
    const { key, shown } = this.#step;
    return shown !== '' && key.slice(0, key.lastIndexOf('.')) !== runKey;
  }

  /** Ends the line that has begun, for something else to be written. */
  interrupt(): void {
    if (this.#isOpen) this.#out.end();
    this.#isOpen = false;
  }

  #begin(key: string): void {
    this.interrupt();
    this.#step = { ...NONE, key };
  }

  #write(agent: string, text: string): void {
    if (!this.#isOpen) this.#out.begin(agent);
    this.#isOpen = true;
    this.#out.write(text);
  }
}
