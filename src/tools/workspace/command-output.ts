import { setTimeout } from 'node:timers/promises';

/** Bytes that are kept: those of the artifact. */
const MOST_KEPT = 10 * 1024 * 1024;
/** Bytes of beginning and end, each, that a model is told of a longer output. */
const TOLD = 8 * 1024;
/** Bytes that followers are told live. */
const MOST_LIVE = 1024 * 1024;
/** Output that comes within this time is one piece for followers, milliseconds. */
const TOGETHER = 100;

/** The output of one command: for followers as it comes, for the model with beginning and end. */
export class CommandOutput {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #kept = 0;
  #end: Buffer = Buffer.alloc(0);
  #unread: Buffer[] = [];
  #live = 0;

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    const kept = piece.subarray(0, MOST_KEPT - this.#kept);
    if (kept.length > 0) this.#pieces.push(kept);
    this.#kept += kept.length;
    this.#end =
      piece.length >= TOLD ? piece.subarray(-TOLD) : Buffer.concat([this.#end, piece]).subarray(-TOLD);
    const live = piece.subarray(0, MOST_LIVE - this.#live);
    if (live.length > 0) this.#unread.push(live);
    this.#live += live.length;
  }

  /** Texts for followers until the command has ended. Bytes that are no text are left out. */
  async *live(running: Promise<unknown>): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    let isOver = false;
    const ended = running.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    while (!isOver) {
      const timer = new AbortController();
      const later = setTimeout(TOGETHER, undefined, { signal: timer.signal }).catch(() => undefined);
      await Promise.race([ended, later]);
      timer.abort();
      const bytes = Buffer.concat(this.#unread);
      this.#unread = [];
      const text = bytes.includes(0) ? '' : decoder.decode(bytes, { stream: !isOver });
      if (text !== '') yield text;
    }
  }

  told(): { text: string; isWhole: boolean; isText: boolean; bytes: number; kept: Buffer } {
    const kept = Buffer.concat(this.#pieces);
    const bytes = this.#bytes;
    if (kept.includes(0)) {
      return { text: `[no text: ${bytes} bytes]`, isWhole: false, isText: false, bytes, kept };
    }
    if (bytes <= 2 * TOLD) return { text: textOf(kept), isWhole: true, isText: true, bytes, kept };
    const [start, end] = [textOf(kept.subarray(0, TOLD)), textOf(this.#end)];
    const text = `${start}\n[… ${bytes - 2 * TOLD} bytes are left out …]\n${end}`;
    return { text, isWhole: false, isText: true, bytes, kept };
  }
}

/** Without the parts of a character that a cut has left; other bytes that are no UTF-8 become U+FFFD. */
function textOf(bytes: Buffer): string {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return new TextDecoder().decode(bytes.subarray(start), { stream: true });
}
