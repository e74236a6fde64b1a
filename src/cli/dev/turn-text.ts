import type { StreamItem } from '../../client/stream-item.ts';
import type { Part } from '../../events/content.ts';
import { cutJson, printable } from '../sessions/shown-values.ts';
import type { Screen } from './screen.ts';

type Of<Type> = Extract<StreamItem, { type: Type }>;

/** Milliseconds between the plan of a call and its begin that need no word. */
const SOON = 1_000;

interface Streamed {
  text: string;
  isThought: boolean;
}

/** Writes one turn as it comes: text as soon as it is told, and of its event what wasn't. */
export class TurnText {
  readonly #screen: Screen;
  readonly #streamed = new Map<string, Streamed>();
  readonly #started = new Map<string, number>();
  #planned = 0;
  /** The step whose text the line that has begun belongs to. */
  #writing: string | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  item(item: StreamItem): void {
    if (item.type === 'event') this.#event(item);
    else if (item.type === 'text') this.#text(item);
    else if (item.type === 'text dropped') this.#dropped(item);
    else if (item.type === 'call started') this.#callStarted(item);
    else this.#callSettled(item);
  }

  #text({ runKey, step, agent, text, thought }: Of<'text'>): void {
    const key = `${runKey}.${step}`;
    const before = this.#streamed.get(key);
    const isThought = thought === true;
    if (this.#writing !== key || before?.isThought !== isThought) {
      this.#screen.endLine();
      this.#author(agent, isThought);
      this.#writing = key;
    }
    const streamed = before ?? { text: '', isThought };
    this.#streamed.set(key, { text: isThought ? streamed.text : streamed.text + text, isThought });
    this.#screen.text(printable(text), isThought ? ['dim', 'italic'] : undefined);
  }

  #dropped({ runKey, step }: Of<'text dropped'>): void {
    this.#streamed.delete(`${runKey}.${step}`);
    this.#writing = undefined;
    this.#screen.note('  ↻ the model is asked again: the text above does not count');
  }

  #event({ kind, runKey, step, event }: Of<'event'>): void {
    const author = event.author ?? '';
    if (kind === 'message') return;
    if (kind === 'rewind') {
      this.#screen.note('  ↶ the session was rewound');
      return;
    }
    if (kind === 'model') this.#answer(`${runKey}.${step}`, author, event.content?.parts ?? []);
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      if (functionCall !== undefined) {
        this.#planned = Date.now();
        this.#line(`  → ${functionCall.name}(${cutJson(functionCall.args ?? {})})`, 'cyan');
      }
      if (functionResponse !== undefined)
        this.#line(`  ← ${functionResponse.name} ${cutJson(functionResponse.response ?? {})}`, 'dim');
    }
    if (event.errorCode !== undefined)
      this.#line(`${author}  ${event.errorCode}: ${event.errorMessage ?? ''}`, 'red');
  }

  #answer(key: string, author: string, parts: readonly Part[]): void {
    const text = parts.flatMap((part) => (part.text && !part.thought ? [part.text] : [])).join('');
    const { text: streamed = '' } = this.#streamed.get(key) ?? {};
    this.#streamed.delete(key);
    const isContinued = this.#writing === key && text.startsWith(streamed) && streamed !== '';
    const rest = isContinued ? text.slice(streamed.length) : text;
    if (!isContinued && text !== '') {
      this.#screen.endLine();
      this.#author(author, false);
    }
    if (rest !== '') this.#screen.text(printable(rest));
    this.#screen.endLine();
    this.#writing = undefined;
  }

  #callStarted({ callKey, tool, attempt }: Of<'call started'>): void {
    this.#started.set(callKey, Date.now());
    if (attempt > 1) this.#note(`  · ${tool} ${placeOf(callKey)} started, attempt ${attempt}`);
    else if (Date.now() - this.#planned > SOON) this.#note(`  · ${tool} ${placeOf(callKey)} started`);
  }

  #callSettled({ callKey, tool, failed }: Of<'call settled'>): void {
    const started = this.#started.get(callKey);
    const took = started === undefined ? '' : ` in ${durationText(Date.now() - started)}`;
    if (failed) this.#note(`  ✗ ${tool} ${placeOf(callKey)} failed${took}`, 'red');
    else this.#note(`  ✓ ${tool} ${placeOf(callKey)} settled${took}`, 'green');
  }

  #author(author: string, isThought: boolean): void {
    this.#screen.text(`${printable(author)}  `, isThought ? 'dim' : ['bold', 'green']);
  }

  #line(text: string, style: 'cyan' | 'dim' | 'red'): void {
    this.#writing = undefined;
    this.#screen.line(printable(text), style);
  }

  #note(text: string, style: 'dim' | 'green' | 'red' = 'dim'): void {
    this.#writing = undefined;
    this.#screen.note(printable(text), style);
  }
}

/** `12 ms`, `1.4 s`, `2 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** Step and place of a call within the turn: the end of its key. */
function placeOf(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}
