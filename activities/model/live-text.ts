import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { LiveFeed, PartialText } from '../../src/store/live/live-feed.ts';

/** From one notice of a model call to the next at least, milliseconds: 20 a second. */
const INTERVAL = 50;

/** Bytes of one notice's text: as many as PostgreSQL's NOTIFY carries, with room for the names around it. */
const MOST_BYTES = 7 * 1024;

/** Most characters that wait for followers. The event brings the text that a model writes faster than it can be sent. */
const MOST_WAITING = 64 * 1024;

const encoder = new TextEncoder();
const notice = new Uint8Array(MOST_BYTES);

/** Names the attempt of a model step whose text is told. */
export type LiveTextPlace = Pick<PartialText, 'session' | 'runKey' | 'step' | 'attempt'>;

interface Piece {
  agent: string;
  thought: boolean;
  text: string;
}

/**
 * Sends a model's text to followers while the model writes: the first text at once, then at most 20 notices a second. Nothing waits
 * for it, and nothing of it is kept. Text of earlier attempts is dropped when this one begins.
 */
export class LiveText {
  readonly #live: Pick<LiveFeed, 'tell'>;
  readonly #place: LiveTextPlace;
  #waiting: Piece[] = [];
  #characters = 0;
  #index = 0;
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(live: Pick<LiveFeed, 'tell'>, place: LiveTextPlace) {
    this.#live = live;
    this.#place = place;
    if (place.attempt > 1) this.#tellDropped(place.attempt);
  }

  /** Takes the text of a partial response, or of a partial event. */
  add(agent: string, { content }: Pick<LlmResponse, 'content'>): void {
    if (this.#ended || !Array.isArray(content?.parts)) return;
    for (const part of content.parts) {
      if (typeof part?.text === 'string' && part.text !== '') {
        this.#append({ agent, thought: part.thought === true, text: part.text });
      }
    }
    this.#proceed();
  }

  /** Tells what waits: the answer is whole, and about to be stored. */
  end(): void {
    if (this.#ended) return;
    this.#close();
    while (this.#waiting.length > 0) this.#tellNext();
  }

  /** Drops the text that was sent: it belongs to no answer. */
  drop(): void {
    this.#close();
    this.#waiting = [];
    if (this.#index === 0) return;
    this.#index = 0;
    this.#tellDropped(this.#place.attempt + 1);
  }

  #append(piece: Piece): void {
    this.#characters += piece.text.length;
    // From here on: text after a gap would read as if nothing were missing.
    if (this.#characters > MOST_WAITING) {
      this.#characters = Number.POSITIVE_INFINITY;
      return;
    }
    const last = this.#waiting.at(-1);
    if (last?.thought === piece.thought && last.agent === piece.agent) last.text += piece.text;
    else this.#waiting.push(piece);
  }

  #proceed(): void {
    if (this.#timer !== undefined || !this.#hasText()) return;
    const wait = this.#nextAt - performance.now();
    if (wait <= 0) this.#tellNext();
    if (!this.#hasText()) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#proceed();
      },
      wait > 0 ? wait : INTERVAL,
    );
  }

  /** The first half of a character that waits for its second one is none. */
  #hasText(): boolean {
    const [first, second] = this.#waiting;
    if (first === undefined) return false;
    return second !== undefined || first.text.length > 1 || !isFirstHalf(first.text);
  }

  #tellNext(): void {
    const [piece] = this.#waiting;
    if (piece === undefined) return;
    const isLast = this.#waiting.length === 1 && !this.#ended;
    const whole = isLast && isFirstHalf(piece.text) ? piece.text.slice(0, -1) : piece.text;
    const text = beginningOf(whole);
    piece.text = piece.text.slice(text.length);
    if (piece.text === '') this.#waiting.shift();
    this.#characters -= text.length;
    this.#nextAt = performance.now() + INTERVAL;
    const { agent, thought } = piece;
    const index = this.#index++;
    this.#live.tell({
      type: 'text',
      ...this.#place,
      agent,
      index,
      text,
      ...(thought ? { thought } : {}),
    });
  }

  #tellDropped(attempt: number): void {
    this.#live.tell({ type: 'text dropped', ...this.#place, attempt });
  }

  #close(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }
}

/** The longest beginning of a text that one notice holds, cut between characters. */
function beginningOf(text: string): string {
  const { read } = encoder.encodeInto(text, notice);
  return text.slice(0, read);
}

/** Whether a text ends with the first half of a surrogate pair. */
function isFirstHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
