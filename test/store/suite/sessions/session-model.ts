type State = Record<string, unknown>;

/** What a session was at one seq. */
interface Moment {
  /** Seqs of the events that agents saw. */
  visible: number[];
  state: State;
  lastAgent: string | undefined;
}

interface ModelEvent {
  kind: string;
  invocationId: string;
  delta?: State;
  agent?: string;
}

/** A session as a list of moments, one behind each event: a fork takes some of them, a rewind repeats an old one. */
export class ModelSession {
  readonly events: ModelEvent[] = [];
  readonly #moments: Moment[];
  /** What the next writer has to answer first. */
  open: ModelEvent | undefined;

  constructor(initial: State = {}) {
    this.#moments = [{ visible: [], state: sessionPart(initial), lastAgent: undefined }];
  }

  get seq(): number {
    return this.events.length;
  }

  get now(): Moment {
    return this.#moments.at(-1) as Moment;
  }

  /** Invocations that are seen, in order. */
  get invocations(): string[] {
    return [...new Set(this.now.visible.map((seq) => (this.events[seq - 1] as ModelEvent).invocationId))];
  }

  append(event: ModelEvent): void {
    const { visible, state, lastAgent } = this.now;
    this.events.push(event);
    this.#moments.push({
      visible: [...visible, this.seq],
      state: { ...state, ...sessionPart(event.delta ?? {}) },
      lastAgent: event.agent ?? lastAgent,
    });
  }

  heal(): void {
    if (this.open) this.append(this.open);
    this.open = undefined;
  }

  rewind(before: string, marker: string): void {
    this.heal();
    const first = this.now.visible.find((seq) => this.events[seq - 1]?.invocationId === before) as number;
    const past = this.#moments[first - 1] as Moment;
    this.events.push({ kind: 'rewind', invocationId: marker });
    this.#moments.push(past);
  }

  fork(at: number): ModelSession {
    const fork = new ModelSession();
    fork.events.push(...this.events.slice(0, at));
    fork.#moments.splice(0, 1, ...this.#moments.slice(0, at + 1));
    return fork;
  }
}

export function sessionPart(state: State): State {
  return Object.fromEntries(Object.entries(state).filter(([key]) => !/^(app|user|temp):/.test(key)));
}

/** ADK has no way to remove a key: a rewind sets it to null. */
export function withoutNulls(state: State): State {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null));
}
