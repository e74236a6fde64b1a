import type { Event } from '../src/events/event.ts';
import { layOver } from '../src/flows/lay-over.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import { visibleEvents } from '../src/flows/visible-events.ts';
import { isRecord } from '../src/schema/kind-of.ts';
import type { ContextInit } from '../src/tools/context-init.ts';
import { InvocationContext } from '../src/tools/invocation-context.ts';

/** What a session was when a ported agent began: JSON. */
export interface ScriptBeginning {
  state: Readonly<Record<string, unknown>>;
  /** Of the transcript's last event. */
  seq: number;
}

export function scriptBeginning(init: ContextInit, { seq }: Transcript): ScriptBeginning {
  return { state: new InvocationContext(init).session.state, seq };
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
  readonly #since: Event[] = [];
  readonly #seen = new WeakSet<Event>();

  constructor(beginning: ScriptBeginning, transcript: Transcript) {
    this.#beginning = beginning;
    this.#transcript = transcript;
    this.#state = structuredClone(beginning.state);
  }

  /** The script has been given it, or has yielded it. */
  sees(event: Event): void {
    // What else a script yields is refused where its events are read.
    if (!isRecord(event) || this.#seen.has(event)) return;
    this.#seen.add(event);
    this.#since.push(event);
    this.keeps(event.actions?.stateDelta ?? {});
  }

  /** State that the script sees from now on. */
  keeps(stateDelta: Readonly<Record<string, unknown>>): void {
    layOver(this.#state, stateDelta);
  }

  context(init: ContextInit): InvocationContext {
    const { invocation: _shared, eventActions: _written, ...rest } = init;
    return new InvocationContext({
      ...rest,
      state: this.#state,
      ...(init.transcript === undefined
        ? {}
        : { transcript: { ...init.transcript, events: () => this.#events() } }),
    });
  }

  #events(): readonly Event[] {
    const before = this.#transcript.behind(0).slice(0, this.#beginning.seq);
    return Object.freeze([...visibleEvents(before).map(({ event }) => event), ...this.#since]);
  }
}
