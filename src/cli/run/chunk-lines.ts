import type { StreamItem } from '../../client/stream/stream-item.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { cutJson } from '../sessions/shown-values.ts';

type Of<Type> = Extract<StreamItem, { type: Type }>;

const INDENT = '    ';

export interface ChunkWriter {
  /** Begins a line, or goes on with the one that has begun. */
  write(text: string): void;
  /** Ends the line. */
  end(): void;
}

/** Writes what streaming tools yield: running text on lines of its tool, anything else on a line by itself. */
export class ChunkLines {
  readonly #out: ChunkWriter;
  /** The call whose line has begun. */
  #open: string | undefined;
  /** Of each call, the attempt and index that its next chunk has. */
  readonly #next = new Map<string, { tool: string; attempt: number; index: number }>();

  constructor(out: ChunkWriter) {
    this.#out = out;
  }

  chunk({ callKey, tool, attempt, index, content, error }: Of<'tool chunk'>): void {
    const next = this.#next.get(callKey);
    const isWhole = next === undefined || next.attempt !== attempt || next.index === index;
    this.#next.set(callKey, { tool, attempt, index: index + 1 });
    if (!isWhole) this.#line(callKey, tool, '…');
    if (typeof content === 'string') this.#text(callKey, tool, content);
    else if (content !== null && content !== undefined) this.#line(callKey, tool, cutJson(content));
    if (error !== undefined) this.#line(callKey, tool, `error: ${error}`);
  }

  dropped({ callKey }: Of<'tool chunks dropped'>): void {
    this.interrupt();
    const known = this.#next.get(callKey);
    if (known === undefined) return;
    this.#next.delete(callKey);
    this.#line(callKey, known.tool, '(what came of this call was dropped)');
  }

  settled(callKey: string): void {
    if (this.#open === callKey) this.interrupt();
    this.#next.delete(callKey);
  }

  /** Ends the line that has begun, for something else to be written. */
  interrupt(): void {
    if (this.#open !== undefined) this.#out.end();
    this.#open = undefined;
  }

  #line(callKey: string, tool: string, text: string): void {
    this.interrupt();
    this.#text(callKey, tool, text);
    this.interrupt();
  }

  #text(callKey: string, tool: string, text: string): void {
    if (this.#open !== callKey) this.interrupt();
    for (const [index, line] of visibleLines(text).split('\n').entries()) {
      if (index > 0) this.interrupt();
      if (line === '') continue;
      this.#out.write(this.#open === undefined ? `${INDENT}${tool} │ ${line}` : line);
      this.#open = callKey;
    }
  }
}
