import type { Event } from '../../src/events/event.ts';
import { layOver } from '../../src/flows/lay-over.ts';
import { type Transcript, TranscriptLog } from '../../src/flows/transcript.ts';
import { visibleEvents } from '../../src/flows/visible-events.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import type { StoredEvent } from '../../src/store/store.ts';
import type { ContextInit } from '../../src/tools/context-init.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';

/** What a session was when a ported agent began: JSON. */
export interface ScriptBeginning {
  state: Readonly<Record<string, unknown>>;
  /** Of the transcript's last event. */
  seq: number;
  /** How many events its callbacks had said behind that one. */
  ahead: number;
}

/** Whose event it is, and what it is to its step. */
export type EventPlace = Pick<StoredEvent, 'kind' | 'runKey' | 'step'>;

export function scriptBeginning(
  init: ContextInit,
  { seq }: Transcript,
  ahead: readonly unknown[],
): ScriptBeginning {
  return { state: new InvocationContext(init).session.state, seq, ahead: ahead.length };
}

/**
 * A session as a ported agent sees it where its script stands: as it was when the agent began, with what the script has been given
 * since and has yielded itself. Semantics: the runner of `@google/adk` 2.0.0, which appends what an agent yields before the agent
 * goes on.
 */
export class ScriptedView {
  readonly #beginning: ScriptBeginning;
  readonly #transcript: Transcript;
  readonly #state: Record<string, unknown>;
  readonly #since: (EventPlace & { event: Event })[] = [];
  readonly #seen = new WeakSet<Event>();
  /** For as many events since the beginning. */
  #now: { transcript: Transcript; since: number } | undefined;

  /** @param ahead what its callbacks have said before it began; its state is that of the beginning. */
  constructor(
    beginning: ScriptBeginning,
    transcript: Transcript,
    ahead: readonly (EventPlace & { event: Event })[],
  ) {
    this.#beginning = beginning;
    this.#transcript = transcript;
    this.#state = structuredClone(beginning.state);
    this.#since.push(...ahead);
  }

  /** The script has been given it, or has yielded it. */
  sees(event: Event, { kind, runKey, step }: EventPlace): void {
    // What else a script yields is refused where its events are read.
    if (!isRecord(event) || this.#seen.has(event)) return;
    this.#seen.add(event);
    this.#since.push({ kind, runKey, step, event });
    this.keeps(event.actions?.stateDelta ?? {});
  }

  /** State that the script sees from now on. */
  keeps(stateDelta: Readonly<Record<string, unknown>>): void {
    layOver(this.#state, stateDelta);
  }

  context(init: ContextInit): InvocationContext {
    const { invocation: _shared, eventActions: _written, transcript, ...rest } = init;
    const view = {
      events: () => this.#events(),
      contents: (perspective: Parameters<Transcript['contents']>[0]) => this.#here().contents(perspective),
      toolCalls: () => this.#here().toolCalls(init.invocationId),
    };
    return new InvocationContext({
      ...rest,
      state: this.#state,
      ...(transcript === undefined ? {} : { transcript: view }),
    });
  }

  #before(): readonly StoredEvent[] {
    return this.#transcript.behind(0).slice(0, this.#beginning.seq);
  }

  #events(): readonly Event[] {
    const since = this.#since.map(({ event }) => event);
    return Object.freeze([...visibleEvents(this.#before()).map(({ event }) => event), ...since]);
  }

  #here(): Transcript {
    if (this.#now?.since === this.#since.length) return this.#now.transcript;
    const log = new TranscriptLog();
    const { seq } = this.#beginning;
    // A log freezes its events, and these are still the script's.
    const since = this.#since.map((placed, index) => structuredClone({ ...placed, seq: seq + 1 + index }));
    log.append([...this.#before(), ...since]);
    this.#now = { transcript: log.at(log.seq), since: since.length };
    return this.#now.transcript;
  }
}
