import { askedLine, askedRequests } from '../../client/approvals/asked-requests.ts';
import type { StreamItem } from '../../client/stream/stream-item.ts';
import { isCompactedEvent } from '../../events/compacted-event.ts';
import type { Part } from '../../events/content.ts';
import { plansIn } from '../../protocol/agent-plan.ts';
import { shortCallKey } from '../../protocol/identity.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { JobLines } from '../jobs/job-lines.ts';
import { ChunkLines } from '../run/chunk-lines.ts';
import { LiveLine } from '../run/live-line.ts';
import { speakerOf, withPath } from '../run/speaker.ts';
import { codeLines, cutJson, responseLine } from '../sessions/shown-values.ts';
import type { Screen } from './screen.ts';

type Of<Type> = Extract<StreamItem, { type: Type }>;

/** Milliseconds between the plan of a call and its begin that need no word. */
const SOON = 1_000;

/** Writes one turn as it comes: text as soon as it is told, and of its event what wasn't. */
export class TurnText {
  readonly #screen: Screen;
  readonly #live: LiveLine;
  readonly #chunks: ChunkLines;
  readonly #jobs: JobLines;
  readonly #started = new Map<string, number>();
  #planned = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#live = new LiveLine({
      begin: (agent) => screen.text(`${screen.paint(['bold', 'green'], visibleLines(agent))}  `),
      write: (text) => screen.text(visibleLines(text)),
      end: () => screen.endLine(),
      remark: (text) => screen.note(`  ${text}`),
    });
    this.#chunks = new ChunkLines({
      write: (text) => screen.text(text, 'dim'),
      end: () => screen.endLine(),
    });
    this.#jobs = new JobLines({
      line: (text) => this.#note(`  · ${text}`),
      draw: screen.drawOver && ((text) => this.#drawOver(`  · ${text}`)),
      end: () => screen.endLine(),
      hint: () => '/jobs tells more',
    });
  }

  item(given: StreamItem): void {
    const item = given.type === 'event' ? given : withPath(given);
    if (item.type === 'tool chunk' || item.type === 'tool chunks dropped') {
      this.#live.interrupt();
      if (item.type === 'tool chunk') this.#chunks.chunk(item);
      else this.#chunks.dropped(item);
      return;
    }
    this.#chunks.interrupt();
    if (item.type === 'event') this.#event(item);
    else if (item.type === 'text') this.#live.text(item);
    else if (item.type === 'text dropped') this.#live.dropped(item);
    else if (item.type === 'job') this.#jobs.item(item);
    else if (item.type === 'call started') this.#callStarted(item);
    else this.#callFinished(item);
  }

  #event(stored: Of<'event'>): void {
    const { kind, event } = stored;
    const author = speakerOf(stored, event.author ?? '');
    if (kind === 'message') {
      this.#responses(event.content?.parts ?? []);
      return;
    }
    if (kind === 'request') {
      const by = stored.holdfast === undefined ? '' : `${author} `;
      for (const asked of askedRequests(stored)) this.#line(`  ? ${by}${askedLine(asked)}`, 'yellow');
      return;
    }
    if (kind === 'rewind') this.#note('  ↶ the session was rewound');
    if (isCompactedEvent(event)) {
      this.#note('  ↧ the context was compacted');
      return;
    }
    const parts = event.content?.parts ?? [];
    const by = stored.holdfast === undefined ? '' : `${author}  `;
    if (kind === 'model' || kind === 'callback') this.#answer(stored, author, parts);
    for (const part of parts) {
      const { functionCall, functionResponse } = part;
      for (const line of codeLines(part)) this.#line(`  ${line}`, 'dim');
      if (functionCall !== undefined) {
        this.#planned = Date.now();
        this.#line(`  ${by}→ ${functionCall.name}(${cutJson(functionCall.args ?? {})})`, 'cyan');
      }
      if (functionResponse !== undefined) this.#line(`  ${by}${responseLine(functionResponse)}`, 'dim');
    }
    for (const { agent, lines } of plansIn(event.actions?.stateDelta)) {
      for (const line of lines) this.#note(`  ${agent}  ${line}`);
    }
    if (event.errorCode !== undefined)
      this.#line(`${author}  ${event.errorCode}: ${event.errorMessage ?? ''}`, 'red');
  }

  /** New outcomes of calls of earlier turns. */
  #responses(parts: readonly Part[]): void {
    for (const { functionResponse } of parts) {
      if (functionResponse !== undefined) this.#line(`  ${responseLine(functionResponse)}`, 'dim');
    }
  }

  #answer(stored: Of<'event'>, author: string, parts: readonly Part[]): void {
    const text = parts.flatMap((part) => (part.text && !part.thought ? [part.text] : [])).join('');
    // Text of callbacks was never written live, and the model's own text may still come.
    const isWritten = stored.kind === 'model' && this.#live.complete(stored, text);
    this.#live.interrupt();
    if (isWritten || text === '') return;
    this.#screen.line(`${this.#screen.paint(['bold', 'green'], author)}  ${visibleLines(text)}`);
  }

  #callStarted({ callKey, tool, attempt }: Of<'call started'>): void {
    this.#started.set(callKey, Date.now());
    if (attempt > 1) this.#note(`  · ${tool} ${shortCallKey(callKey)} started, attempt ${attempt}`);
    else if (Date.now() - this.#planned > SOON) this.#note(`  · ${tool} ${shortCallKey(callKey)} started`);
  }

  #callFinished({ callKey, tool, failed }: Of<'call finished'>): void {
    this.#chunks.settled(callKey);
    const started = this.#started.get(callKey);
    const took = started === undefined ? '' : ` in ${durationText(Date.now() - started)}`;
    if (failed) this.#note(`  ✗ ${tool} ${shortCallKey(callKey)} failed${took}`, 'red');
    else this.#note(`  ✓ ${tool} ${shortCallKey(callKey)} finished${took}`, 'green');
  }

  #drawOver(text: string): void {
    this.#live.interrupt();
    this.#screen.drawOver?.(visibleLines(text));
  }

  #line(text: string, style: 'cyan' | 'dim' | 'red' | 'yellow'): void {
    this.#live.interrupt();
    this.#screen.line(visibleLines(text), style);
  }

  #note(text: string, style: 'dim' | 'green' | 'red' = 'dim'): void {
    this.#live.interrupt();
    this.#screen.note(visibleLines(text), style);
  }
}

/** `12 ms`, `1.4 s`, `2 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
